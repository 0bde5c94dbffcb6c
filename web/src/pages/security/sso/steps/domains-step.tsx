import { useState } from 'react'
import { api, unwrap } from '../../../../api/client.ts'
import { sso } from '../../../../strings/sso.ts'
import { Button } from '../../../../ui/button.tsx'
import { ConfirmDialog } from '../../../../ui/confirm-dialog.tsx'
import { Field } from '../../../../ui/field.tsx'
import { Input } from '../../../../ui/input.tsx'
import { Form, Section } from '../../../../ui/templates.tsx'
import { toast } from '../../../../ui/toasts.tsx'
import { useDraft } from '../../../../ui/use-draft.ts'
import { useSubmit } from '../../../sign-in/use-submit.ts'
import { type StepProps, useReloadSso } from '../settings.ts'
import { EmailDomain } from './email-domain.tsx'

const AddDomain = () => {
  const { value, change, forget } = useDraft('sso-domain', { domain: '' })
  const form = useSubmit()
  const reload = useReloadSso()
  const add = () =>
    form.submit(async () => {
      const { domain } = await unwrap(api.POST('/api/internal/sso/domains', { body: value }))
      forget()
      toast(sso.added(domain))
      await reload()
    })
  return (
    <Form
      onSubmit={add}
      error={form.rest}
      actions={
        <Button type="submit" busy={form.busy} gate="requireOwnerSession">
          {sso.addDomain}
        </Button>
      }
    >
      <Field label={sso.domain} error={form.fault('domain')}>
        <Input
          placeholder="example.com"
          value={value.domain}
          onChange={(event) => change({ domain: event.target.value })}
        />
      </Field>
    </Form>
  )
}

export const DomainsStep = ({ settings, goTo }: StepProps) => {
  const [removed, setRemoved] = useState<string>()
  const reload = useReloadSso()
  const remove = async () => {
    const query = { domain: removed ?? '' }
    await unwrap(api.DELETE('/api/internal/sso/domains', { params: { query } }))
    await reload()
  }
  return (
    <Section title={sso.domainsTitle} description={sso.domainsHelp}>
      <div className="flex flex-col gap-4">
        {settings.email_domains.map((one) => (
          <EmailDomain key={one.domain} domain={one} onRemove={() => setRemoved(one.domain)} />
        ))}
        <AddDomain />
        <div className="border-t pt-4">
          <Button look="primary" onClick={() => goTo('test')}>
            {sso.next}
          </Button>
        </div>
      </div>
      <ConfirmDialog
        open={removed !== undefined}
        onClose={() => setRemoved(undefined)}
        title={sso.removeDomain(removed ?? '')}
        action={sso.remove}
        typed={removed}
        onConfirm={remove}
      >
        {sso.removeDomainHelp}
      </ConfirmDialog>
    </Section>
  )
}
