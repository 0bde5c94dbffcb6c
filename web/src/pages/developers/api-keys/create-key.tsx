import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { useMode } from '../../../shell/mode.ts'
import { apiKeys } from '../../../strings/api-keys.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { SecretOnce } from '../../../ui/secret-once.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'
import { bodyOf, emptyKey } from './key-data.ts'
import { KeyForm } from './key-form.tsx'

type Props = { onClose: () => void; onCreated: (key: string) => void }

const NewKeyForm = ({ onClose, onCreated }: Props) => {
  const environment = useMode()
  const client = useQueryClient()
  const draft = useDraft('new-key', emptyKey)
  const form = useSubmit()
  const send = () =>
    form.submit(async () => {
      const body = { ...bodyOf(draft.value), environment }
      const { key } = await unwrap(api.POST('/api/internal/api-keys', { body }))
      draft.forget()
      onCreated(key)
      await client.invalidateQueries({ queryKey: ['api-keys'] })
    })
  return (
    <KeyForm
      inDialog
      values={draft.value}
      onChange={draft.change}
      form={form}
      onSubmit={send}
      actions={
        <>
          <Button type="submit" look="primary" busy={form.busy} gate="requireOwnerSession">
            {apiKeys.create}
          </Button>
          <Button onClick={onClose}>{ui.cancel}</Button>
        </>
      }
    />
  )
}

/** The form, and then the key itself, which is shown only here. */
export const CreateKey = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const mode = useMode()
  const [secret, setSecret] = useState<string>()
  const close = () => {
    setSecret(undefined)
    onClose()
  }
  return (
    <Dialog
      open={open}
      onClose={close}
      title={secret ? apiKeys.created : apiKeys.createTitle(mode)}
      locked={secret !== undefined}
      wide
    >
      <div className="mt-4">
        {secret ? (
          <SecretOnce name={apiKeys.secretName} secret={secret} fileName="tidings-key.txt" onStored={close} />
        ) : (
          open && <NewKeyForm onClose={close} onCreated={setSecret} />
        )}
      </div>
    </Dialog>
  )
}
