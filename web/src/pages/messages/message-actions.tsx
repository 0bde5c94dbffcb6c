import { useQueryClient } from '@tanstack/react-query'
import { Ban, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { api, unwrap } from '../../api/client.ts'
import { messages } from '../../strings/messages.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { toast, toastError } from '../../ui/toasts.tsx'
import type { ShownMessage } from './message-data.ts'

const whyNotAgain = (message: ShownMessage): string | undefined => {
  const { resendReasons: reasons } = messages
  if (message.status === 'scheduled' || message.status === 'sending') return reasons.pending
  if (message.redacted_at !== null) return reasons.redacted
  return message.channel === 'email' && message.attachments.length > 0 ? reasons.attachments : undefined
}

type Props = { message: ShownMessage; onOpen: (id: string) => void }

export const MessageActions = ({ message, onOpen }: Props) => {
  const client = useQueryClient()
  const [busy, setBusy] = useState(false)
  const [asking, setAsking] = useState(false)
  const params = { path: { id: message.id } }
  const refresh = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: ['messages'] }),
      client.invalidateQueries({ queryKey: ['message', message.id] }),
    ])
  const resend = async () => {
    setBusy(true)
    try {
      const { id } = await unwrap(api.POST('/api/internal/messages/{id}/resend', { params }))
      toast(messages.resent)
      onOpen(id)
      await refresh()
    } catch (error) {
      toastError(error)
    } finally {
      setBusy(false)
    }
  }
  const cancel = async () => {
    await unwrap(api.POST('/api/internal/messages/{id}/cancel', { params }))
    toast(messages.canceled)
    await refresh()
  }
  return (
    <div className="flex flex-wrap gap-2">
      {message.status === 'scheduled' ? (
        <Button
          gate="requireDeveloperSession"
          icon={<Ban aria-hidden className="size-3.5" />}
          onClick={() => setAsking(true)}
        >
          {messages.cancel}
        </Button>
      ) : (
        <Button
          gate="requireDeveloperSession"
          busy={busy}
          reason={whyNotAgain(message)}
          icon={<RotateCw aria-hidden className="size-3.5" />}
          onClick={() => void resend()}
        >
          {messages.resend}
        </Button>
      )}
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={messages.cancelTitle}
        action={messages.cancel}
        onConfirm={cancel}
      >
        {messages.cancelHelp}
      </ConfirmDialog>
    </div>
  )
}
