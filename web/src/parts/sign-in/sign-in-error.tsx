import { ApiError } from '../../api/api-error.ts'
import { signIn } from '../../strings/sign-in.ts'
import { buttonClasses } from '../../ui/button.tsx'
import { ErrorNote } from '../../ui/error-note.tsx'
import { ssoAddress } from './sso-address.ts'

/** An error of sign-in, with the next step: a mailed link, or the single sign-on that the organisation requires. */
export const SignInError = ({ error, redirectTo }: { error: unknown; redirectTo: string | undefined }) => {
  const code = error instanceof ApiError ? error.code : undefined
  const refusal = error instanceof ApiError && code === 'SSO_REQUIRED' ? error.body : undefined
  // The identity provider does not sign in this address.
  const start = refusal?.exemption_needed ? undefined : refusal?.login_url
  return (
    <>
      <ErrorNote error={error} {...(code === 'UNLOCK_REQUIRED' && { title: signIn.lockedTitle })} />
      {typeof start === 'string' && (
        <a href={ssoAddress(start, redirectTo)} className={buttonClasses('secondary')}>
          {signIn.withSso}
        </a>
      )}
    </>
  )
}
