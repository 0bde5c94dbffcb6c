import { useState } from 'react'
import { sso } from '../../../../strings/sso.ts'
import { ui } from '../../../../strings/ui.ts'
import { Button } from '../../../../ui/button.tsx'
import { Field } from '../../../../ui/field.tsx'
import { Input } from '../../../../ui/input.tsx'
import { Form } from '../../../../ui/templates.tsx'
import { toast } from '../../../../ui/toasts.tsx'
import { useDraft } from '../../../../ui/use-draft.ts'
import { useSubmit } from '../../../sign-in/use-submit.ts'
import { type SsoSettings, usePutSso } from '../settings.ts'

type Props = { settings: SsoSettings; onSaved: () => void }

export const OidcForm = ({ settings, onSaved }: Props) => {
  const { value, change, forget } = useDraft('sso-oidc', {
    issuer: settings.oidc_issuer ?? '',
    clientId: settings.oidc_client_id ?? '',
  })
  // A secret is not kept in a draft.
  const [secret, setSecret] = useState('')
  const form = useSubmit()
  const put = usePutSso()
  const save = () =>
    form.submit(async () => {
      const given = { oidc_issuer: value.issuer, oidc_client_id: value.clientId }
      await put({ protocol: 'oidc', ...given, ...(secret && { oidc_client_secret: secret }) })
      forget()
      toast(ui.saved)
      onSaved()
    })
  return (
    <Form
      onSubmit={save}
      error={form.rest}
      actions={
        <Button type="submit" look="primary" busy={form.busy} gate="requireOwnerSession">
          {sso.saveProvider}
        </Button>
      }
    >
      <Field label={sso.issuer} error={form.fault('oidc_issuer') ?? form.fault('protocol')}>
        <Input type="url" value={value.issuer} onChange={(event) => change({ issuer: event.target.value })} />
      </Field>
      <Field label={sso.clientId} error={form.fault('oidc_client_id')}>
        <Input value={value.clientId} onChange={(event) => change({ clientId: event.target.value })} />
      </Field>
      <Field
        label={sso.clientSecret}
        help={settings.protocol === 'oidc' ? sso.secretKept : sso.secretHelp}
        error={form.fault('oidc_client_secret')}
      >
        <Input type="password" autoComplete="off" value={secret} onChange={(event) => setSecret(event.target.value)} />
      </Field>
    </Form>
  )
}
