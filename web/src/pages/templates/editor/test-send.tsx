import { Link } from '@tanstack/react-router'
import { Send } from 'lucide-react'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { useUser } from '../../../api/session.ts'
import type { Template } from '../../../parts/template-data.ts'
import type { Variables } from '../../../parts/template-variables.ts'
import { editor } from '../../../strings/templates.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { entriesOf } from '../../../ui/list-text.ts'
import { SaveForm } from '../../../ui/save-form.tsx'
import { fieldsOf, TextField } from '../../../ui/text-field.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSave } from '../../../ui/use-save.ts'

type Props = { template: Template; variables: Variables }

const TestForm = ({ template: { id, channel }, variables, onClose }: Props & { onClose: () => void }) => {
  const { email } = useUser()
  const draft = useDraft(`test-send-${channel}`, { from: '', to: channel === 'email' ? email : '' })
  const [sent, setSent] = useState<string>()
  const { from, to } = draft.value
  const form = useSave(
    () => {
      const body = { id, from, to: channel === 'email' ? entriesOf(to) : to, variables }
      return unwrap(api.POST('/api/internal/templates/test-send', { body }))
    },
    { message: editor.testSent, done: ({ id: made }) => setSent(made) },
  )
  const field = fieldsOf(draft.value, draft.change, form.faultIn)
  return (
    <SaveForm
      label={editor.testTitle}
      onSubmit={form.save}
      form={form}
      error={form.faultIn('variables') ? form.error : form.rest}
      gate="requireWriteSession"
      action={editor.test}
      more={
        <>
          <Button onClick={onClose}>{ui.close}</Button>
          {sent && (
            <Link to="/messages" search={{ open: sent }} className="text-accent text-sm underline">
              {editor.testOpen}
            </Link>
          )}
        </>
      }
    >
      <TextField label={editor.testFrom} help={editor.testFromHelp[channel]} {...field('from')} />
      <TextField label={editor.testTo} help={editor.testToHelp[channel]} {...field('to')} />
    </SaveForm>
  )
}

/** @property reason Why no test can be sent now. */
export const TestSend = ({ reason, ...props }: Props & { reason: string | undefined }) => {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button
        gate="requireWriteSession"
        reason={reason}
        icon={<Send aria-hidden className="size-3.5" />}
        onClick={() => setOpen(true)}
      >
        {editor.test}
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={editor.testTitle} description={editor.testHelp}>
        {open && <TestForm {...props} onClose={() => setOpen(false)} />}
      </Dialog>
    </>
  )
}
