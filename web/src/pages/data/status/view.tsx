import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { statusPage } from '../../../strings/data.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { PageSkeleton } from '../../../ui/skeleton.tsx'
import { Page } from '../../../ui/templates.tsx'
import { PartStatus, tones } from './part-status.tsx'

const StatusPage = () => {
  const { data, error, refetch } = useQuery({
    queryKey: ['status'],
    queryFn: () => unwrap(api.GET('/api/internal/status')),
    refetchInterval: 30_000,
  })
  if (!data && !error) return <PageSkeleton />
  return (
    <Page
      title={statusPage.title}
      description={statusPage.description}
      width="form"
      actions={<Button onClick={() => void refetch()}>{statusPage.refresh}</Button>}
    >
      <ErrorNote error={error} />
      {data && (
        <>
          <p className="rounded-md border bg-surface px-4 py-3 font-medium">
            <StatusDot tone={tones[data.state]}>{statusPage.overall[data.state]}</StatusDot>
          </p>
          {data.parts.map((part) => (
            <PartStatus key={part.part} part={part} />
          ))}
        </>
      )}
    </Page>
  )
}

export default StatusPage
