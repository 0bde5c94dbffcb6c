import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { scim } from '../../../strings/scim.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { SecretDialog } from '../../../ui/secret-once.tsx'
import { fieldsOf, TextField } from '../../../ui/text-field.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSave } from '../../../ui/use-save.ts'
import { tokensKey } from './scim-data.ts'

type FormProps = { onClose: () => void; onCreated: (token: string) => void }

const TokenForm = ({ onClose, onCreated }: FormProps) => {
  const draft = useDraft('scim-token', { name: '', days: '' })
  const [wrong, setWrong] = useState(false)
  const { name, days } = draft.value
  const form = useSave(
    () => {
      const body = { name, ...(days.trim() && { expires_in_days: Number(days) }) }
      return unwrap(api.POST('/api/internal/scim/tokens', { body }))
    },
    {
      done: ({ token }) => {
        draft.forget()
        onCreated(token)
      },
      refreshes: [tokensKey],
    },
  )
  const create = () => {
    const valid = /^\d{0,4}$/.test(days.trim())
    setWrong(!valid)
    if (valid) form.save()
  }
  const field = fieldsOf(draft.value, draft.change, form.fault)
  return (
    <SaveForm
      label={scim.create}
      onSubmit={create}
      form={form}
      gate="requireOwnerSession"
      action={scim.create}
      more={<Button onClick={onClose}>{ui.cancel}</Button>}
    >
      <TextField label={scim.name} help={scim.createHelp} {...field('name')} />
      <TextField
        label={scim.expires}
        optional
        help={scim.expiresHelp}
        inputMode="numeric"
        {...field('days')}
        error={wrong ? scim.expiresInvalid : form.fault('expires_in_days')}
      />
    </SaveForm>
  )
}

export const CreateToken = ({ open, onClose }: { open: boolean; onClose: () => void }) => (
  <SecretDialog
    open={open}
    onClose={onClose}
    title={scim.create}
    createdTitle={scim.created}
    name={scim.secretName}
    fileName="tidings-scim-token.txt"
  >
    {(onCreated, close) => <TokenForm onClose={close} onCreated={onCreated} />}
  </SecretDialog>
)
