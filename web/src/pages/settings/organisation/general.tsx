import { useState } from 'react'
import { useRefusal } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { organisation } from '../../../strings/settings.ts'
import { Copyable } from '../../../ui/copy-button.tsx'
import { DetailList } from '../../../ui/detail-list.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Switch } from '../../../ui/switch.tsx'
import { Section } from '../../../ui/templates.tsx'
import { TextField } from '../../../ui/text-field.tsx'
import { everything, useSave } from '../../../ui/use-save.ts'

export type OwnOrg = operations['getApiInternalOrg']['responses'][200]['content']['application/json']

export const General = ({ org }: { org: OwnOrg }) => {
  const refusal = useRefusal('requireOwnerSession')
  const [name, setName] = useState(org.name)
  const [quiet, setQuiet] = useState(org.sms_quiet_hours)
  const form = useSave(() => unwrap(api.PATCH('/api/internal/org', { body: { name, sms_quiet_hours: quiet } })), {
    message: organisation.saved,
    refreshes: [everything],
  })
  return (
    <Section title={organisation.general}>
      <SaveForm label={organisation.general} onSubmit={form.save} form={form} gate="requireOwnerSession">
        <TextField
          label={organisation.name}
          help={organisation.nameHelp}
          error={form.fault('name')}
          value={name}
          readOnly={refusal !== undefined}
          onText={setName}
        />
        <Switch
          label={organisation.quietHours}
          help={organisation.quietHoursHelp}
          checked={quiet}
          disabled={refusal !== undefined}
          onChecked={setQuiet}
        />
      </SaveForm>
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
