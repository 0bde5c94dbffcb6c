import { useQueryClient } from '@tanstack/react-query'
import { ui } from '../../strings/ui.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { type ContactFields, ContactForm } from './contact-form.tsx'

type Props = {
  open: boolean
  title: string
  onClose: () => void
  onSubmit: (fields: ContactFields) => Promise<void>
}

/** A contact to add, to the organisation or to an audience. */
export const ContactDialog = ({ open, title, onClose, onSubmit }: Props) => {
  const client = useQueryClient()
  const submit = async (fields: ContactFields) => {
    await onSubmit(fields)
    onClose()
    await Promise.all([['contacts'], ['audiences']].map((queryKey) => client.invalidateQueries({ queryKey })))
  }
  return (
    <Dialog open={open} onClose={onClose} title={title}>
      <ContactForm label={title} onSubmit={submit} more={<Button onClick={onClose}>{ui.cancel}</Button>} />
    </Dialog>
  )
}
