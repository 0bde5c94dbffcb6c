import { type ReactNode, useState } from 'react'
import { ui } from '../strings/ui.ts'
import { Button, type ButtonProps } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorNote } from './error-note.tsx'
import { Section } from './templates.tsx'
import { TextField } from './text-field.tsx'
import { type Afterwards, useSave } from './use-save.ts'

export type ConfirmProps<Result = unknown> = {
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
  onConfirm: (typed: string) => Promise<Result>
} & Pick<Afterwards<Result>, 'message' | 'done' | 'refreshes' | 'deleted'>

const Form = <Result,>(props: ConfirmProps<Result>) => {
  const { children, action, typed, danger = true, onConfirm, onClose, message, done, refreshes, deleted } = props
  const [text, setText] = useState('')
  const form = useSave(() => onConfirm(text), { message, done, refreshes, deleted, closes: onClose })
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        if (typed === undefined || text === typed) form.save()
      }}
    >
      <div className="text-muted text-sm">{children}</div>
      {typed !== undefined && (
        <TextField label={ui.typeToConfirm(typed)} value={text} onText={setText} autoComplete="off" />
      )}
      <ErrorNote error={form.error} />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{ui.cancel}</Button>
        <Button
          type="submit"
          look={danger ? 'danger' : 'primary'}
          busy={form.busy}
          disabled={typed !== undefined && text !== typed}
        >
          {action}
        </Button>
      </div>
    </form>
  )
}

export const ConfirmDialog = <Result,>(props: ConfirmProps<Result>) => (
  <Dialog open={props.open} onClose={props.onClose} title={props.title}>
    {props.open && <Form {...props} />}
  </Dialog>
)

type ConfirmButtonProps<Result> = Omit<ConfirmProps<Result>, 'open' | 'onClose'> &
  Pick<ButtonProps, 'look' | 'size' | 'gate' | 'reason' | 'icon'>

/** A button whose action has to be confirmed. */
export const ConfirmButton = <Result,>(props: ConfirmButtonProps<Result>) => {
  const { look, size, gate, reason, icon, ...dialog } = props
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button look={look} size={size} gate={gate} reason={reason} icon={icon} onClick={() => setOpen(true)}>
        {dialog.action}
      </Button>
      <ConfirmDialog {...dialog} open={open} onClose={() => setOpen(false)} />
    </>
  )
}

type DangerProps<Result> = Omit<ConfirmButtonProps<Result>, 'children'> & {
  /** Of the section. Default: that of the button. */
  heading?: string
  help: string
  children?: ReactNode
}

/** A dangerous action in a section of its own, at the bottom of a detail. What it does is said there and in the dialog. */
export const DangerSection = <Result,>({ heading, help, children = help, ...button }: DangerProps<Result>) => (
  <Section
    danger
    title={heading ?? button.action}
    description={help}
    actions={
      <ConfirmButton look="danger" {...button}>
        {children}
      </ConfirmButton>
    }
  />
)
