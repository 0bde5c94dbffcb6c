import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { useMode } from '../../../api/mode.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { blasts } from '../../../strings/blasts.ts'
import { ConfirmButton } from '../../../ui/confirm-dialog.tsx'
import { DetailList } from '../../../ui/detail-list.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Bar, Loading } from '../../../ui/skeleton.tsx'
import { type Blast, bodyOf } from './blast-draft.ts'

type Estimate = operations['postApiInternalAudiencesByIdEstimate']['responses'][200]['content']['application/json']

const count = (value: number): string => value.toLocaleString('en')
const costOf = ({ cost }: Estimate): string =>
  Number(cost.amount).toLocaleString('en', { style: 'currency', currency: cost.currency, maximumFractionDigits: 6 })

const sizeOf = (bytes: number): string =>
  bytes < 1_000_000 ? `${count(Math.ceil(bytes / 1_000))} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`

const Facts = ({ of }: { of: Estimate }) => (
  <DetailList
    facts={[
      { name: blasts.recipients, value: <strong>{count(of.recipients)}</strong> },
      { name: blasts.cost, value: <strong>{costOf(of)}</strong> },
      { name: blasts.members, value: count(of.total) },
      { name: blasts.skipped, value: count(of.suppressed) },
      ...(of.segments === null ? [] : [{ name: blasts.segments, value: count(of.segments) }]),
      { name: blasts.size, value: sizeOf(of.bytes) },
      ...(of.deferred_quiet_hours > 0 ? [{ name: blasts.deferred, value: count(of.deferred_quiet_hours) }] : []),
      { name: blasts.starts, value: <RelativeTime due at={of.starts_at} /> },
      { name: blasts.ends, value: <RelativeTime due at={of.ends_at} /> },
    ]}
  />
)

type Props = { audienceId: string; blast: Blast; ready: boolean; onSent: (jobId: string) => void }

export const ReviewStep = ({ audienceId, blast, ready, onSent }: Props) => {
  const mode = useMode()
  const body = bodyOf(blast)
  const params = { path: { id: audienceId } }
  const { data, error } = useQuery({
    queryKey: ['blast', 'estimate', audienceId, body],
    queryFn: () => unwrap(api.POST('/api/internal/audiences/{id}/estimate', { params, body })),
    enabled: ready,
    staleTime: 0,
    retry: false,
  })
  if (!ready) return <p className="text-sm">{blasts.incomplete}</p>
  const send = () => {
    const headers = { 'idempotency-key': blast.key }
    return unwrap(api.POST('/api/internal/audiences/{id}/send', { params, body, headers }))
  }
  if (error) return <ErrorNote error={error} />
  if (!data) {
    return (
      <Loading>
        <p className="mb-3 text-muted text-sm">{blasts.estimating}</p>
        <Bar className="h-32 w-full" />
      </Loading>
    )
  }
  return (
    <>
      <p className="text-muted text-sm">{blasts.reviewHelp}</p>
      <Facts of={data} />
      <div>
        <ConfirmButton
          look="primary"
          gate="requireDeveloperSession"
          reason={mode === 'test' ? blasts.onlyLive : undefined}
          danger={false}
          title={blasts.confirmTitle}
          action={blasts.sendNow(data.recipients)}
          onConfirm={send}
          done={({ job_id }) => onSent(job_id)}
        >
          {blasts.confirm(data.recipients, costOf(data))}
        </ConfirmButton>
      </div>
    </>
  )
}
