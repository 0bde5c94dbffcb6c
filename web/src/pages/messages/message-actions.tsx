import { Ban, RotateCw } from 'lucide-react'
import { api, unwrap } from '../../api/client.ts'
import { messages } from '../../strings/messages.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/confirm-dialog.tsx'
import { toastError } from '../../ui/toasts.tsx'
import { useSave } from '../../ui/use-save.ts'
import type { ShownMessage } from './message-data.ts'

const whyNotAgain = (message: ShownMessage): string | undefined => {
  const { resendReasons: reasons } = messages
  if (message.status === 'scheduled' || message.status === 'sending') return reasons.pending
  if (message.redacted_at !== null) return reasons.redacted
  return message.channel === 'email' && message.attachments.length > 0 ? reasons.attachments : undefined
}

type Props = { message: ShownMessage; onOpen: (id: string) => void }

export const MessageActions = ({ message, onOpen }: Props) => {
  const params = { path: { id: message.id } }
  const refreshes = [['messages'], ['message', message.id]]
  const { save, busy } = useSave(() => unwrap(api.POST('/api/internal/messages/{id}/resend', { params })), {
    message: messages.resent,
    done: ({ id }) => onOpen(id),
    refreshes,
    failed: toastError,
  })
  const cancel = () => unwrap(api.POST('/api/internal/messages/{id}/cancel', { params }))
  return (
    <div className="flex flex-wrap gap-2">
      {message.status === 'scheduled' ? (
        <ConfirmButton
          gate="requireDeveloperSession"
          icon={<Ban aria-hidden className="size-3.5" />}
          title={messages.cancelTitle}
          action={messages.cancel}
          onConfirm={cancel}
          message={messages.canceled}
          refreshes={refreshes}
        >
          {messages.cancelHelp}
        </ConfirmButton>
      ) : (
        <Button
          gate="requireDeveloperSession"
          busy={busy}
          reason={whyNotAgain(message)}
          icon={<RotateCw aria-hidden className="size-3.5" />}
          onClick={() => save()}
        >
          {messages.resend}
        </Button>
      )}
    </div>
  )
}
