import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { ui } from '../../../strings/ui.ts'
import { webhooks } from '../../../strings/webhooks.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { SecretOnce } from '../../../ui/secret-once.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'
import { EndpointForm, emptyEndpoint, endpointBody } from './endpoint-form.tsx'

type Props = { onClose: () => void; onCreated: (secret: string) => void }

const NewEndpoint = ({ onClose, onCreated }: Props) => {
  const client = useQueryClient()
  const draft = useDraft('new-webhook', emptyEndpoint)
  const form = useSubmit()
  const send = () =>
    form.submit(async () => {
      const tenant = draft.value.tenant.trim()
      const body = { ...endpointBody(draft.value), ...(tenant && { tenant_id: tenant }) }
      const { secret } = await unwrap(api.POST('/api/internal/webhooks', { body }))
      draft.forget()
      onCreated(secret)
      await client.invalidateQueries({ queryKey: ['webhooks'] })
    })
  return (
    <EndpointForm
      values={draft.value}
      onChange={draft.change}
      form={form}
      onSubmit={send}
      actions={
        <>
          <Button type="submit" look="primary" busy={form.busy} gate="requireDeveloperSession">
            {webhooks.create}
          </Button>
          <Button onClick={onClose}>{ui.cancel}</Button>
        </>
      }
    />
  )
}

/** The form, and then the signing secret, which is shown only here and after a rotation. */
export const CreateEndpoint = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const [secret, setSecret] = useState<string>()
  const close = () => {
    setSecret(undefined)
    onClose()
  }
  return (
    <Dialog
      open={open}
      onClose={close}
      title={secret ? webhooks.created : webhooks.createTitle}
      locked={secret !== undefined}
    >
      <div className="mt-4">
        {secret ? (
          <SecretOnce name={webhooks.secretName} secret={secret} fileName="webhook-secret.txt" onStored={close} />
        ) : (
          open && <NewEndpoint onClose={close} onCreated={setSecret} />
        )}
      </div>
    </Dialog>
  )
}
