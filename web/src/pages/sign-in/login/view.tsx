import { Link, useSearch } from '@tanstack/react-router'
import { signIn } from '../../../strings/sign-in.ts'
import { enterAt } from '../enter.ts'
import { PublicPage, textLink } from '../public-page.tsx'
import { SignInSteps } from '../sign-in-steps.tsx'

const LoginPage = () => {
  const { error, redirect_to: redirectTo } = useSearch({ strict: false }) as Record<string, string | undefined>
  return (
    <PublicPage
      title={signIn.title}
      footer={
        <div className="flex flex-col items-center gap-2">
          <Link to="/forgot-password" className={textLink}>
            {signIn.forgot}
          </Link>
          <span>
            {signIn.noAccount}{' '}
            <Link to="/register" className={textLink}>
              {signIn.register}
            </Link>
          </span>
        </div>
      }
    >
      {error && (
        <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm">
          {signIn.errors[error] ?? signIn.errors.oauth_failed}
        </p>
      )}
      <SignInSteps redirectTo={redirectTo} onDone={(done) => enterAt(done.redirect_to)} />
    </PublicPage>
  )
}

export default LoginPage
