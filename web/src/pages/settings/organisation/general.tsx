import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useRefusal } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { organisation } from '../../../strings/settings.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { DetailList } from '../../../ui/detail-list.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Switch } from '../../../ui/switch.tsx'
import { Form, Section } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useSubmit } from '../../sign-in/use-submit.ts'

export type OwnOrg = operations['getApiInternalOrg']['responses'][200]['content']['application/json']

export const General = ({ org }: { org: OwnOrg }) => {
  const client = useQueryClient()
  const refusal = useRefusal('requireOwnerSession')
  const [name, setName] = useState(org.name)
  const [quiet, setQuiet] = useState(org.sms_quiet_hours)
  const form = useSubmit()
  const save = () =>
    form.submit(async () => {
      await unwrap(api.PATCH('/api/internal/org', { body: { name, sms_quiet_hours: quiet } }))
      toast(organisation.saved)
      await client.invalidateQueries()
    })
  return (
    <Section title={organisation.general}>
      <Form
        label={organisation.general}
        onSubmit={save}
        error={form.rest}
        actions={
          <Button type="submit" look="primary" gate="requireOwnerSession" busy={form.busy}>
            {ui.save}
          </Button>
        }
      >
        <Field label={organisation.name} help={organisation.nameHelp} error={form.fault('name')}>
          <Input value={name} readOnly={refusal !== undefined} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Switch
          label={organisation.quietHours}
          help={organisation.quietHoursHelp}
          checked={quiet}
          disabled={refusal !== undefined}
          onChecked={setQuiet}
        />
      </Form>
      <div className="mt-6 border-t pt-4">
        <DetailList
          facts={[
            { name: organisation.id, value: <Copyable text={org.id} /> },
            { name: organisation.slug, value: <Copyable text={org.slug} /> },
            { name: organisation.sandbox, value: <Copyable text={org.sandbox_domain} /> },
            { name: organisation.plan, value: <span className="capitalize">{org.plan}</span> },
            { name: organisation.created, value: <RelativeTime at={org.created_at} /> },
          ]}
        />
      </div>
    </Section>
  )
}
