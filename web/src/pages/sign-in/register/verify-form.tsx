import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Field } from '../../../ui/field.tsx'
import { CodeInput } from '../../../ui/input.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { DevMail } from '../dev-mail.tsx'
import { enterAt } from '../enter.ts'
import { PublicForm } from '../public-page.tsx'
import { useSubmit } from '../use-submit.ts'

export const VerifyForm = ({ email }: { email: string }) => {
  const [code, setCode] = useState('')
  const form = useSubmit()
  const navigate = useNavigate()
  const send = () =>
    form.submit(async () => {
      const done = await unwrap(api.POST('/api/auth/verify-email', { body: { email, code } }))
      if (done.status === 'signed_in') return enterAt(done.redirect_to)
      toast(signIn.verified)
      await navigate({ to: '/login' })
    })
  const resend = () =>
    form.submit(async () => {
      await unwrap(api.POST('/api/auth/resend-verification', { body: { channel: 'email', email } }))
      toast(signIn.resent)
    })
  return (
    <PublicForm onSubmit={send}>
      <Field label={signIn.code} error={form.fault('code')}>
        <CodeInput name="code" autoFocus value={code} onChange={(event) => setCode(event.target.value)} />
      </Field>
      <ErrorNote error={form.rest} />
      <Button type="submit" look="primary" busy={form.busy}>
        {signIn.continue}
      </Button>
      <Button look="quiet" size="small" onClick={resend}>
        {signIn.resend}
      </Button>
      <DevMail to={email} />
    </PublicForm>
  )
}
