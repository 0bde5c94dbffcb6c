import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { DevMail } from '../../../parts/sign-in/dev-mail.tsx'
import { PublicForm, PublicPage, textLink } from '../../../parts/sign-in/public-page.tsx'
import { signIn } from '../../../strings/sign-in.ts'
import { TextField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'

const ForgotPasswordPage = () => {
  const [email, setEmail] = useState('')
  const [sent, setSent] = useState(false)
  const form = useSave(() => unwrap(api.POST('/api/auth/forgot-password', { body: { email } })), {
    done: () => setSent(true),
  })
  return (
    <PublicPage
      title={signIn.forgotTitle}
      description={sent ? undefined : signIn.forgotHelp}
      footer={
        <Link to="/login" className={textLink}>
          {signIn.backToSignIn}
        </Link>
      }
    >
      {sent ? (
        <>
          <p role="status">{signIn.linkSent(email)}</p>
          <DevMail to={email} />
        </>
      ) : (
        <PublicForm onSubmit={form.save} form={form} action={signIn.sendLink}>
          <TextField
            label={signIn.email}
            error={form.fault('email')}
            type="email"
            name="email"
            autoComplete="username"
            autoFocus
            value={email}
            onText={setEmail}
          />
        </PublicForm>
      )}
    </PublicPage>
  )
}

export default ForgotPasswordPage
