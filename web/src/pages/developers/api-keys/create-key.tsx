import { api, unwrap } from '../../../api/client.ts'
import { useMode } from '../../../api/mode.ts'
import { apiKeys } from '../../../strings/api-keys.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { SecretDialog } from '../../../ui/secret-once.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSave } from '../../../ui/use-save.ts'
import { bodyOf, emptyKey } from './key-data.tsx'
import { KeyForm } from './key-form.tsx'

type Props = { onClose: () => void; onCreated: (key: string) => void }

const NewKeyForm = ({ onClose, onCreated }: Props) => {
  const environment = useMode()
  const draft = useDraft('new-key', emptyKey)
  const form = useSave(
    () => {
      const body = { ...bodyOf(draft.value), environment }
      return unwrap(api.POST('/api/internal/api-keys', { body }))
    },
    {
      done: ({ key }) => {
        draft.forget()
        onCreated(key)
      },
      refreshes: [['api-keys']],
    },
  )
  return (
    <KeyForm
      inDialog
      values={draft.value}
      onChange={draft.change}
      form={form}
      onSubmit={form.save}
      action={apiKeys.create}
      more={<Button onClick={onClose}>{ui.cancel}</Button>}
    />
  )
}

export const CreateKey = ({ open, onClose }: { open: boolean; onClose: () => void }) => (
  <SecretDialog
    open={open}
    onClose={onClose}
    title={apiKeys.createTitle(useMode())}
    createdTitle={apiKeys.created}
    name={apiKeys.secretName}
    fileName="tidings-key.txt"
    wide
  >
    {(onCreated, close) => <NewKeyForm onClose={close} onCreated={onCreated} />}
  </SecretDialog>
)
