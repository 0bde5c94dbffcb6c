import { useState } from 'react'
import { type SsoSettings, usePutSso } from '../../../../parts/sso-settings.ts'
import { sso } from '../../../../strings/sso.ts'
import { ui } from '../../../../strings/ui.ts'
import { SaveForm } from '../../../../ui/save-form.tsx'
import { fieldsOf, TextField } from '../../../../ui/text-field.tsx'
import { useDraft } from '../../../../ui/use-draft.ts'
import { useSave } from '../../../../ui/use-save.ts'

type Props = { settings: SsoSettings; onSaved: () => void }

export const OidcForm = ({ settings, onSaved }: Props) => {
  const { value, change, forget } = useDraft('sso-oidc', {
    issuer: settings.oidc_issuer ?? '',
    clientId: settings.oidc_client_id ?? '',
  })
  // A secret is not kept in a draft.
  const [secret, setSecret] = useState('')
  const put = usePutSso()
  const form = useSave(
    () => {
      const given = { oidc_issuer: value.issuer, oidc_client_id: value.clientId }
      return put({ protocol: 'oidc', ...given, ...(secret && { oidc_client_secret: secret }) })
    },
    {
      message: ui.saved,
      done: () => {
        forget()
        onSaved()
      },
    },
  )
  const field = fieldsOf(value, change, form.fault)
  return (
    <SaveForm onSubmit={form.save} form={form} gate="requireOwnerSession" action={sso.saveProvider}>
      <TextField
        label={sso.issuer}
        type="url"
        {...field('issuer')}
        error={form.fault('oidc_issuer') ?? form.fault('protocol')}
      />
      <TextField label={sso.clientId} {...field('clientId', 'oidc_client_id')} />
      <TextField
        label={sso.clientSecret}
        help={settings.protocol === 'oidc' ? sso.secretKept : sso.secretHelp}
        error={form.fault('oidc_client_secret')}
        type="password"
        autoComplete="off"
        value={secret}
        onText={setSecret}
      />
    </SaveForm>
  )
}
