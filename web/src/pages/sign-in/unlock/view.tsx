import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { api, unwrap } from '../../../api/client.ts'
import { PublicForm, PublicPage, textLink } from '../../../parts/sign-in/public-page.tsx'
import { signIn } from '../../../strings/sign-in.ts'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { useSave } from '../../../ui/use-save.ts'

/** A button uses the mailed link, because programs that check mail open pages too. */
const UnlockPage = () => {
  const { token = '' } = useSearch({ strict: false }) as Record<string, string>
  const navigate = useNavigate()
  const form = useSave(() => unwrap(api.POST('/api/auth/unlock', { body: { token } })), {
    message: signIn.unlocked,
    done: () => navigate({ to: '/login' }),
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
      <PublicForm
        onSubmit={form.save}
        form={form}
        error={<ErrorNote error={form.error} />}
        action={signIn.unlock}
        autoFocus
      />
    </PublicPage>
  )
}

export default UnlockPage
