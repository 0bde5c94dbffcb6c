import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../../api/api-error.ts'
import { api, unwrap } from '../../../api/client.ts'
import { enterAt } from '../../../api/enter.ts'
import { PublicPage, textLink } from '../../../parts/sign-in/public-page.tsx'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'

/** The link that the first start prints. A button sends it, because programs that preview links open pages too. */
const WelcomePage = () => {
  const { token = '' } = useSearch({ strict: false }) as Record<string, string>
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const enter = async () => {
    setBusy(true)
    try {
      const done = await unwrap(api.POST('/api/auth/first-sign-in', { body: { token } }))
      enterAt(done.redirect_to)
    } catch (fault) {
      setError(fault)
      setBusy(false)
    }
  }
  const used = error instanceof ApiError && error.code === 'INVALID_TOKEN'
  return (
    <PublicPage title={signIn.welcomeTitle} description={signIn.welcomeHelp}>
      {used ? (
        <p role="alert">
          {signIn.welcomeUsed}{' '}
          <Link to="/login" className={textLink}>
            {signIn.submit}
          </Link>
        </p>
      ) : (
        <>
          <ErrorNote error={error} />
          <Button look="primary" autoFocus busy={busy} onClick={enter}>
            {signIn.welcomeEnter}
          </Button>
        </>
      )}
    </PublicPage>
  )
}

export default WelcomePage
