import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../../api/api-error.ts'
import { api, unwrap } from '../../../api/client.ts'
import { enterAt } from '../../../api/enter.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { sessionQuery } from '../../../api/session.ts'
import { PublicPage } from '../../../parts/sign-in/public-page.tsx'
import { SignInError } from '../../../parts/sign-in/sign-in-error.tsx'
import { StepUpPrompt } from '../../../parts/sign-in/step-up-prompt.tsx'
import { signIn } from '../../../strings/sign-in.ts'
import { Button, buttonClasses } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { useWork } from '../../../ui/use-save.ts'

type Invitation = operations['getApiAuthInvitation']['responses'][200]['content']['application/json']
type AnswerProps = { token: string; onDeclined: () => void }

const Answer = ({ token, onDeclined }: AnswerProps) => {
  const form = useWork()
  const accept = async () => {
    await unwrap(api.POST('/api/internal/team/accept', { body: { token } }))
    enterAt('/')
  }
  const decline = async () => {
    await unwrap(api.POST('/api/internal/team/decline', { body: { token } }))
    onDeclined()
  }
  return (
    <>
      <SignInError error={form.rest} redirectTo="/" />
      <StepUpPrompt />
      <div className="flex gap-2">
        <Button look="primary" busy={form.busy} onClick={() => form.save(accept)}>
          {signIn.accept}
        </Button>
        <Button onClick={() => form.save(decline)}>{signIn.decline}</Button>
      </div>
    </>
  )
}

/** For somebody who is not signed in: sign in, or register with the invited address. */
const Entrance = ({ token, invitation }: { token: string; invitation: Invitation }) =>
  invitation.account_exists ? (
    <Link to="/login" search={{ redirect_to: `/invite?token=${token}` }} className={buttonClasses('primary')}>
      {signIn.signInToAccept}
    </Link>
  ) : (
    <Link to="/register" search={{ invite: token, email: invitation.email }} className={buttonClasses('primary')}>
      {signIn.register}
    </Link>
  )

const WrongAccount = ({ email }: { email: string }) => (
  <>
    <p>{signIn.wrongAccount(email)}</p>
    <Button
      onClick={async () => {
        await api.POST('/api/auth/logout')
        location.reload()
      }}
    >
      {signIn.signOut}
    </Button>
  </>
)

const InvitePage = () => {
  const { token = '' } = useSearch({ strict: false }) as Record<string, string>
  const [declined, setDeclined] = useState(false)
  const session = useQuery(sessionQuery)
  const { data: invitation, error } = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => unwrap(api.GET('/api/auth/invitation', { params: { query: { token } } })),
  })
  if (error instanceof ApiError && error.status === 404) {
    return (
      <PublicPage title={signIn.inviteGone} description={signIn.inviteGoneHelp}>
        <Link to="/login" className={buttonClasses('secondary')}>
          {signIn.backToSignIn}
        </Link>
      </PublicPage>
    )
  }
  if (error) {
    return (
      <PublicPage title={signIn.inviteTitle('Tidings')}>
        <ErrorNote error={error} />
      </PublicPage>
    )
  }
  if (!invitation || !session.data) {
    return (
      <PublicPage title={signIn.inviteTitle('…')}>
        <Skeleton />
      </PublicPage>
    )
  }
  const { org_name, invited_by, role, email } = invitation
  const { user } = session.data
  return (
    <PublicPage title={signIn.inviteTitle(org_name)} description={signIn.invitedBy(invited_by, org_name, role)}>
      {declined ? (
        <p role="status">{signIn.declined}</p>
      ) : (
        <>
          <p className="text-muted text-sm">{signIn.inviteFor(email)}</p>
          {!user && <Entrance token={token} invitation={invitation} />}
          {user && user.email !== email && <WrongAccount email={user.email} />}
          {user?.email === email && <Answer token={token} onDeclined={() => setDeclined(true)} />}
        </>
      )}
    </PublicPage>
  )
}

export default InvitePage
