import { useState } from 'react'
import { api, unwrap } from '../../../../api/client.ts'
import { type StepProps, ssoQuery } from '../../../../parts/sso-settings.ts'
import { sso } from '../../../../strings/sso.ts'
import { Button } from '../../../../ui/button.tsx'
import { ConfirmDialog } from '../../../../ui/confirm-dialog.tsx'
import { SaveForm } from '../../../../ui/save-form.tsx'
import { Section } from '../../../../ui/templates.tsx'
import { TextField } from '../../../../ui/text-field.tsx'
import { useDraft } from '../../../../ui/use-draft.ts'
import { useSave } from '../../../../ui/use-save.ts'
import { EmailDomain } from './email-domain.tsx'

const AddDomain = () => {
  const { value, change, forget } = useDraft('sso-domain', { domain: '' })
  const form = useSave(() => unwrap(api.POST('/api/internal/sso/domains', { body: value })), {
    message: ({ domain }) => sso.added(domain),
    done: () => forget(),
    refreshes: [ssoQuery.queryKey],
  })
  return (
    <SaveForm onSubmit={form.save} form={form} gate="requireOwnerSession" look="secondary" action={sso.addDomain}>
      <TextField
        label={sso.domain}
        error={form.fault('domain')}
        placeholder="example.com"
        value={value.domain}
        onText={(text) => change({ domain: text })}
      />
    </SaveForm>
  )
}

export const DomainsStep = ({ settings, goTo }: StepProps) => {
  const [removed, setRemoved] = useState<string>()
  const remove = () => {
    const query = { domain: removed ?? '' }
    return unwrap(api.DELETE('/api/internal/sso/domains', { params: { query } }))
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
        refreshes={[ssoQuery.queryKey]}
      >
        {sso.removeDomainHelp}
      </ConfirmDialog>
    </Section>
  )
}
