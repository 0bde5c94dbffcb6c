import { api, unwrap } from '../../../api/client.ts'
import { ui } from '../../../strings/ui.ts'
import { webhooks } from '../../../strings/webhooks.ts'
import { Button } from '../../../ui/button.tsx'
import { SecretDialog } from '../../../ui/secret-once.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSave } from '../../../ui/use-save.ts'
import { EndpointForm, emptyEndpoint, endpointBody } from './endpoint-form.tsx'

type Props = { onClose: () => void; onCreated: (secret: string) => void }

const NewEndpoint = ({ onClose, onCreated }: Props) => {
  const draft = useDraft('new-webhook', emptyEndpoint)
  const form = useSave(
    () => {
      const tenant = draft.value.tenant.trim()
      const body = { ...endpointBody(draft.value), ...(tenant && { tenant_id: tenant }) }
      return unwrap(api.POST('/api/internal/webhooks', { body }))
    },
    {
      done: ({ secret }) => {
        draft.forget()
        onCreated(secret)
      },
      refreshes: [['webhooks']],
    },
  )
  return (
    <EndpointForm
      values={draft.value}
      onChange={draft.change}
      form={form}
      onSubmit={form.save}
      action={webhooks.create}
      more={<Button onClick={onClose}>{ui.cancel}</Button>}
    />
  )
}

export const CreateEndpoint = ({ open, onClose }: { open: boolean; onClose: () => void }) => (
  <SecretDialog
    open={open}
    onClose={onClose}
    title={webhooks.createTitle}
    createdTitle={webhooks.created}
    name={webhooks.secretName}
    fileName="webhook-secret.txt"
  >
    {(onCreated, close) => <NewEndpoint onClose={close} onCreated={onCreated} />}
  </SecretDialog>
)
