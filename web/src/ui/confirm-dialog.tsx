import { type ReactNode, useState } from 'react'
import { ui } from '../strings/ui.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorNote } from './error-note.tsx'
import { Field } from './field.tsx'
import { Input } from './input.tsx'

export type ConfirmProps = {
  open: boolean
  onClose: () => void
  title: ReactNode
  /** What happens, and what does not. */
  children: ReactNode
  action: string
  /** For what cannot be undone: the person has to type this text. */
  typed?: string | undefined
  danger?: boolean
  /** The dialog closes when it resolves, and shows the error when it rejects. */
  onConfirm: (typed: string) => Promise<unknown>
}

const Form = ({ onClose, children, action, typed, danger = true, onConfirm }: ConfirmProps) => {
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const confirm = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await onConfirm(text)
      onClose()
    } catch (fault) {
      setError(fault)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        if (typed === undefined || text === typed) void confirm()
      }}
    >
      <div className="text-muted text-sm">{children}</div>
      {typed !== undefined && (
        <Field label={ui.typeToConfirm(typed)}>
          <Input value={text} onChange={(event) => setText(event.target.value)} autoComplete="off" />
        </Field>
      )}
      <ErrorNote error={error} />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{ui.cancel}</Button>
        <Button
          type="submit"
          look={danger ? 'danger' : 'primary'}
          busy={busy}
          disabled={typed !== undefined && text !== typed}
        >
          {action}
        </Button>
      </div>
    </form>
  )
}

export const ConfirmDialog = (props: ConfirmProps) => (
  <Dialog open={props.open} onClose={props.onClose} title={props.title}>
    {props.open && <Form {...props} />}
  </Dialog>
)
