import { Link } from '@tanstack/react-router'
import { Send } from 'lucide-react'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { useUser } from '../../../api/session.ts'
import { editor } from '../../../strings/templates.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { entriesOf } from '../../../ui/list-text.ts'
import { Form } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'
import type { Template } from '../template-data.ts'
import type { Variables } from './use-preview.ts'

type Props = { template: Template; variables: Variables }

const TestForm = ({ template: { id, channel }, variables, onClose }: Props & { onClose: () => void }) => {
  const { email } = useUser()
  const draft = useDraft(`test-send-${channel}`, { from: '', to: channel === 'email' ? email : '' })
  const [sent, setSent] = useState<string>()
  const form = useSubmit()
  const { from, to } = draft.value
  const send = () =>
    form.submit(async () => {
      const body = { id, from, to: channel === 'email' ? entriesOf(to) : to, variables }
      setSent((await unwrap(api.POST('/api/internal/templates/test-send', { body }))).id)
      toast(editor.testSent)
    })
  return (
    <Form
      label={editor.testTitle}
      onSubmit={send}
      error={form.faultIn('variables') ? form.error : form.rest}
      actions={
        <>
          <Button type="submit" look="primary" gate="requireWriteSession" busy={form.busy}>
            {editor.test}
          </Button>
          <Button onClick={onClose}>{ui.close}</Button>
          {sent && (
            <Link to={'/messages' as never} search={{ open: sent } as never} className="text-accent text-sm underline">
              {editor.testOpen}
            </Link>
          )}
        </>
      }
    >
      <Field label={editor.testFrom} help={editor.testFromHelp[channel]} error={form.faultIn('from')}>
        <Input value={from} onChange={(event) => draft.change({ from: event.target.value })} />
      </Field>
      <Field label={editor.testTo} help={editor.testToHelp[channel]} error={form.faultIn('to')}>
        <Input value={to} onChange={(event) => draft.change({ to: event.target.value })} />
      </Field>
    </Form>
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
