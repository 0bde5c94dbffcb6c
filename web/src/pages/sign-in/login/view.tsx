import { Link, useSearch } from '@tanstack/react-router'
import { enterAt } from '../../../api/enter.ts'
import { PublicPage, textLink } from '../../../parts/sign-in/public-page.tsx'
import { SignInSteps } from '../../../parts/sign-in/sign-in-steps.tsx'
import { signIn } from '../../../strings/sign-in.ts'

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
