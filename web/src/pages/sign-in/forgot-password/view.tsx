import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { DevMail } from '../dev-mail.tsx'
import { PublicForm, PublicPage, textLink } from '../public-page.tsx'
import { useSubmit } from '../use-submit.ts'

const ForgotPasswordPage = () => {
  const [email, setEmail] = useState('')
  const [sent, setSent] = useState(false)
  const form = useSubmit()
  const send = () =>
    form.submit(async () => {
      await unwrap(api.POST('/api/auth/forgot-password', { body: { email } }))
      setSent(true)
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
        <PublicForm onSubmit={send}>
          <Field label={signIn.email} error={form.fault('email')}>
            <Input
              type="email"
              name="email"
              autoComplete="username"
              autoFocus
              value={email}
              onChange={(event) => setEmail(event.target.value)}
            />
          </Field>
          <ErrorNote error={form.rest} />
          <Button type="submit" look="primary" busy={form.busy}>
            {signIn.sendLink}
          </Button>
        </PublicForm>
      )}
    </PublicPage>
  )
}

export default ForgotPasswordPage
