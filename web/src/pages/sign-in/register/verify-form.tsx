import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { enterAt } from '../../../api/enter.ts'
import { DevMail } from '../../../parts/sign-in/dev-mail.tsx'
import { PublicForm } from '../../../parts/sign-in/public-page.tsx'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { CodeInput } from '../../../ui/input.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useWork } from '../../../ui/use-save.ts'

export const VerifyForm = ({ email }: { email: string }) => {
  const [code, setCode] = useState('')
  const navigate = useNavigate()
  const form = useWork()
  const send = async () => {
    const done = await unwrap(api.POST('/api/auth/verify-email', { body: { email, code } }))
    if (done.status === 'signed_in') return enterAt(done.redirect_to)
    toast(signIn.verified)
    await navigate({ to: '/login' })
  }
  const resend = async () => {
    await unwrap(api.POST('/api/auth/resend-verification', { body: { channel: 'email', email } }))
    toast(signIn.resent)
  }
  return (
    <PublicForm
      onSubmit={() => form.save(send)}
      form={form}
      action={signIn.continue}
      more={
        <>
          <Button look="quiet" size="small" onClick={() => form.save(resend)}>
            {signIn.resend}
          </Button>
          <DevMail to={email} />
        </>
      }
    >
      <Field label={signIn.code} error={form.fault('code')}>
        <CodeInput name="code" autoFocus value={code} onChange={(event) => setCode(event.target.value)} />
      </Field>
    </PublicForm>
  )
}
