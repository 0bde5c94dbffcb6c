import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { PublicForm, PublicPage } from '../../../parts/sign-in/public-page.tsx'
import { signIn } from '../../../strings/sign-in.ts'
import { TextField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'

const ResetPasswordPage = () => {
  const { token = '' } = useSearch({ strict: false }) as Record<string, string>
  const [password, setPassword] = useState('')
  const navigate = useNavigate()
  const form = useSave(() => unwrap(api.POST('/api/auth/reset-password', { body: { token, password } })), {
    message: signIn.passwordSet,
    done: () => navigate({ to: '/login' }),
  })
  return (
    <PublicPage title={signIn.resetTitle}>
      <PublicForm onSubmit={form.save} form={form} action={signIn.setPassword}>
        <TextField
          label={signIn.newPassword}
          help={signIn.passwordHelp}
          error={form.fault('password')}
          type="password"
          name="password"
          autoComplete="new-password"
          autoFocus
          value={password}
          onText={setPassword}
        />
      </PublicForm>
    </PublicPage>
  )
}

export default ResetPasswordPage
