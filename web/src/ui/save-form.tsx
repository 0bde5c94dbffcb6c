/** Forms with one button that sends them. */
import type { ComponentProps, ReactNode } from 'react'
import { ui } from '../strings/ui.ts'
import { Button, type ButtonProps } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Form } from './templates.tsx'
import type { FormState } from './use-save.ts'

type Props = Omit<ComponentProps<typeof Form>, 'actions'> &
  Pick<ButtonProps, 'gate' | 'look' | 'reason' | 'disabled'> & {
    form: Pick<FormState, 'busy' | 'rest'>
    /** What the button says. */
    action?: string
    /** Next to the button. */
    more?: ReactNode
  }

export const SaveForm = ({
  form,
  action = ui.save,
  look = 'primary',
  gate,
  reason,
  disabled,
  more,
  ...props
}: Props) => (
  <Form
    error={form.rest}
    {...props}
    actions={
      <>
        <Button type="submit" look={look} gate={gate} busy={form.busy} reason={reason} disabled={disabled}>
          {action}
        </Button>
        {more}
      </>
    }
  />
)

type DialogProps = Props & { open: boolean; onClose: () => void; title: string; description?: ReactNode }

/** A form that makes something, in a dialog. */
export const FormDialog = ({ open, onClose, title, description, ...props }: DialogProps) => (
  <Dialog open={open} onClose={onClose} title={title} description={description}>
    <SaveForm label={title} more={<Button onClick={onClose}>{ui.cancel}</Button>} {...props} />
  </Dialog>
)
