import { useQuery } from '@tanstack/react-query'
import { Navigate, useSearch } from '@tanstack/react-router'
import { ApiError } from '../../../api/api-error.ts'
import { api, unwrap } from '../../../api/client.ts'
import { sessionQuery } from '../../../api/session.ts'
import { PublicPage } from '../../../parts/sign-in/public-page.tsx'
import { StepUpPrompt } from '../../../parts/sign-in/step-up-prompt.tsx'
import { oauth } from '../../../strings/oauth.ts'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Decision } from './decision.tsx'

const Failed = ({ error }: { error: Error }) =>
  error instanceof ApiError && error.status === 404 ? (
    <PublicPage title={oauth.gone} description={oauth.goneHelp}>
      {null}
    </PublicPage>
  ) : (
    <PublicPage title={oauth.consentPlain}>
      <ErrorNote error={error} />
    </PublicPage>
  )

const ConsentPage = () => {
  const { id = '' } = useSearch({ strict: false }) as Record<string, string>
  const session = useQuery(sessionQuery)
  const user = session.data?.user
  const { data: request, error } = useQuery({
    queryKey: ['oauth-request', id],
    queryFn: () => unwrap(api.GET('/api/internal/oauth/request', { params: { query: { id } } })),
    enabled: user != null,
    // The choice must not change under the hand of the person.
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (session.data && !user) {
    const back = `/oauth/consent?id=${encodeURIComponent(id)}`
    return <Navigate to="/login" search={{ redirect_to: back }} replace />
  }
  const failure = session.error ?? error
  if (failure) return <Failed error={failure} />
  if (!request) {
    return (
      <PublicPage title={oauth.consentPlain}>
        <Skeleton className="h-40 w-full" />
      </PublicPage>
    )
  }
  const { name, redirect_host } = request.client
  return (
    <PublicPage
      title={oauth.consentTitle(name)}
      description={oauth.wants(name)}
      footer={user && oauth.signedInAs(user.email)}
    >
      <div className="text-sm">
        <p>
          {oauth.sentTo} <strong className="break-all font-mono font-medium">{redirect_host}</strong>
        </p>
        <p className="mt-1 text-muted">{oauth.unverified}</p>
      </div>
      <Decision request={request} firstOrg={session.data?.active_org?.id} />
      <StepUpPrompt />
    </PublicPage>
  )
}

export default ConsentPage
