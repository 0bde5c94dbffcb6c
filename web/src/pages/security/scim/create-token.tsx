import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { scim } from '../../../strings/scim.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { SecretOnce } from '../../../ui/secret-once.tsx'
import { Form } from '../../../ui/templates.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'
import { tokensKey } from './scim-data.ts'

type FormProps = { onClose: () => void; onCreated: (token: string) => void }

const TokenForm = ({ onClose, onCreated }: FormProps) => {
  const client = useQueryClient()
  const draft = useDraft('scim-token', { name: '', days: '' })
  const form = useSubmit()
  const [wrong, setWrong] = useState(false)
  const { name, days } = draft.value
  const create = () => {
    const text = days.trim()
    const valid = /^\d{0,4}$/.test(text)
    setWrong(!valid)
    if (!valid) return
    return form.submit(async () => {
      const body = { name, ...(text && { expires_in_days: Number(text) }) }
      const { token } = await unwrap(api.POST('/api/internal/scim/tokens', { body }))
      draft.forget()
      onCreated(token)
      await client.invalidateQueries({ queryKey: tokensKey })
    })
  }
  return (
    <Form
      label={scim.create}
      onSubmit={create}
      error={form.rest}
      actions={
        <>
          <Button type="submit" look="primary" gate="requireOwnerSession" busy={form.busy}>
            {scim.create}
          </Button>
          <Button onClick={onClose}>{ui.cancel}</Button>
        </>
      }
    >
      <Field label={scim.name} help={scim.createHelp} error={form.fault('name')}>
        <Input value={name} onChange={(event) => draft.change({ name: event.target.value })} />
      </Field>
      <Field
        label={scim.expires}
        optional
        help={scim.expiresHelp}
        error={wrong ? scim.expiresInvalid : form.fault('expires_in_days')}
      >
        <Input inputMode="numeric" value={days} onChange={(event) => draft.change({ days: event.target.value })} />
      </Field>
    </Form>
  )
}

/** The form, and then the token itself, which is shown only here. */
export const CreateToken = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const [token, setToken] = useState<string>()
  const close = () => {
    setToken(undefined)
    onClose()
  }
  return (
    <Dialog open={open} onClose={close} title={token ? scim.created : scim.create} locked={token !== undefined}>
      {token ? (
        <SecretOnce name={scim.secretName} secret={token} fileName="tidings-scim-token.txt" onStored={close} />
      ) : (
        open && <TokenForm onClose={close} onCreated={setToken} />
      )}
    </Dialog>
  )
}
