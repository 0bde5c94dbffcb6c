import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { PublicForm, PublicPage } from '../public-page.tsx'
import { useSubmit } from '../use-submit.ts'

const ResetPasswordPage = () => {
  const { token = '' } = useSearch({ strict: false }) as Record<string, string>
  const [password, setPassword] = useState('')
  const form = useSubmit()
  const navigate = useNavigate()
  const send = () =>
    form.submit(async () => {
      await unwrap(api.POST('/api/auth/reset-password', { body: { token, password } }))
      toast(signIn.passwordSet)
      await navigate({ to: '/login' })
    })
  return (
    <PublicPage title={signIn.resetTitle}>
      <PublicForm onSubmit={send}>
        <Field label={signIn.newPassword} help={signIn.passwordHelp} error={form.fault('password')}>
          <Input
            type="password"
            name="password"
            autoComplete="new-password"
            autoFocus
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        </Field>
        <ErrorNote error={form.rest} />
        <Button type="submit" look="primary" busy={form.busy}>
          {signIn.setPassword}
        </Button>
      </PublicForm>
    </PublicPage>
  )
}

export default ResetPasswordPage
