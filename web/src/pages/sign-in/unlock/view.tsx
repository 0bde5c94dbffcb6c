import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { api, unwrap } from '../../../api/client.ts'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { PublicForm, PublicPage, textLink } from '../public-page.tsx'
import { useSubmit } from '../use-submit.ts'

/** A button uses the mailed link, because programs that check mail open pages too. */
const UnlockPage = () => {
  const { token = '' } = useSearch({ strict: false }) as Record<string, string>
  const form = useSubmit()
  const navigate = useNavigate()
  const send = () =>
    form.submit(async () => {
      await unwrap(api.POST('/api/auth/unlock', { body: { token } }))
      toast(signIn.unlocked)
      await navigate({ to: '/login' })
    })
  return (
    <PublicPage
      title={signIn.unlockTitle}
      description={signIn.unlockHelp}
      footer={
        <Link to="/login" className={textLink}>
          {signIn.backToSignIn}
        </Link>
      }
    >
      <PublicForm onSubmit={send}>
        <ErrorNote error={form.error} />
        <Button type="submit" look="primary" autoFocus busy={form.busy}>
          {signIn.unlock}
        </Button>
      </PublicForm>
    </PublicPage>
  )
}

export default UnlockPage
