import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../../../api/client.ts'
import { jobs } from '../../../strings/jobs.ts'
import { messages } from '../../../strings/messages.ts'
import { StatusDot, type Tone } from '../../../ui/badge.tsx'
import { buttonClasses } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { ConfirmButton } from '../../../ui/confirm-dialog.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { curl } from '../../../ui/curl.ts'
import { DetailList } from '../../../ui/detail-list.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Meter } from '../../../ui/meter.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { tones } from '../message-data.ts'
import { doneIn, isMoving, type Job, jobTones, useJob } from './job-data.ts'

const words = jobs.facts
const count = (value: number): string => value.toLocaleString('en')

const Figure = ({ tone, name, value }: { tone: Tone; name: string; value: number }) => (
  <div className="bg-canvas px-3 py-2">
    <dt>
      <StatusDot tone={tone}>{name}</StatusDot>
    </dt>
    <dd className="font-medium tabular-nums">{count(value)}</dd>
  </div>
)

const Counts = ({ counts, suppressed }: Pick<Job, 'counts' | 'suppressed'>) => (
  <section aria-label={jobs.counts}>
    <h3 className="mb-1.5 font-medium text-sm">{jobs.counts}</h3>
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-md border bg-line sm:grid-cols-4">
      {(Object.entries(counts) as [keyof typeof counts, number][]).map(([status, value]) => (
        <Figure key={status} tone={tones[status]} name={messages.statuses[status]} value={value} />
      ))}
      <Figure tone="neutral" name={words.suppressed} value={suppressed} />
    </dl>
  </section>
)

const Winner = ({ winner }: { winner: NonNullable<Job['winner']> }) => (
  <section>
    <h3 className="mb-1 font-medium text-sm">{jobs.winner}</h3>
    <p className="text-muted text-sm">
      {winner.variant === null ? (
        <>
          {jobs.winnerOpen(winner.test_percent, winner.by)} {jobs.decides} <RelativeTime due at={winner.decides_at} />.
        </>
      ) : (
        jobs.winnerChosen(winner.variant)
      )}
    </p>
  </section>
)

const Progress = ({ job }: { job: Job }) => (
  <div className="flex flex-col gap-5">
    <Meter
      label={jobs.progress}
      used={doneIn(job)}
      limit={job.scheduled}
      text={jobs.progressOf(doneIn(job), job.scheduled)}
    />
    {job.incomplete && (
      <p role="alert" className="rounded-md border border-bad/40 bg-bad-soft px-3 py-2 text-sm">
        {jobs.incomplete}
      </p>
    )}
    <Counts {...job} />
    {job.winner && <Winner winner={job.winner} />}
  </div>
)

const Details = ({ job }: { job: Job }) => (
  <DetailList
    facts={[
      { name: words.audience, value: <Copyable text={job.audience_id} /> },
      { name: words.from, value: job.from },
      { name: words.template, value: job.template },
      { name: words.total, value: count(job.total) },
      { name: words.suppressed, value: count(job.suppressed) },
      { name: words.deferred, value: count(job.deferred_quiet_hours) },
      { name: words.starts, value: <RelativeTime due at={job.starts_at} /> },
      { name: words.ends, value: <RelativeTime due at={job.ends_at} /> },
      { name: words.created, value: <RelativeTime at={job.created_at} /> },
      { name: words.started, value: <RelativeTime at={job.started_at} /> },
      { name: words.completed, value: <RelativeTime at={job.completed_at} /> },
      { name: words.canceled, value: <RelativeTime at={job.canceled_at} /> },
      { name: words.tenant, value: job.tenant_id ? <Copyable text={job.tenant_id} /> : undefined },
    ]}
  />
)

const CancelJob = ({ job: { id } }: { job: Job }) => {
  const client = useQueryClient()
  const cancel = () => unwrap(api.POST('/api/internal/jobs/{id}/cancel', { params: { path: { id } } }))
  return (
    <ConfirmButton
      gate="requireDeveloperSession"
      title={jobs.cancelTitle}
      action={jobs.cancel}
      onConfirm={cancel}
      message={({ canceled }) => jobs.canceled(canceled)}
      done={() =>
        Promise.all([
          client.invalidateQueries({ queryKey: ['job', id] }),
          client.invalidateQueries({ queryKey: ['jobs'] }),
          client.invalidateQueries({ queryKey: ['messages'] }),
        ])
      }
    >
      {jobs.cancelHelp}
    </ConfirmButton>
  )
}

const Actions = ({ job }: { job: Job }) => (
  <div className="flex flex-wrap gap-2">
    <Link to={'/messages'} search={{ job: job.id }} className={buttonClasses()}>
      {jobs.messages}
    </Link>
    <Link to={`/audiences/${job.audience_id}`} className={buttonClasses()}>
      {jobs.openAudience}
    </Link>
    {isMoving(job) && <CancelJob job={job} />}
  </div>
)

type Props = { id: string; tab: string; onTab: (tab: string) => void }

export const JobDetail = ({ id, tab, onTab }: Props) => {
  const { data: job, error } = useJob(id)
  if (!job) return error ? <ErrorNote error={error} /> : <Skeleton className="h-64 w-full" />
  const tabs = [
    { id: 'progress', label: jobs.tabs.progress, panel: <Progress job={job} /> },
    { id: 'details', label: jobs.tabs.details, panel: <Details job={job} /> },
    { id: 'api', label: jobs.tabs.api, panel: <CodeBlock label="curl" code={curl('GET', `/jobs/${id}`)} /> },
  ]
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-col gap-1.5">
        <h2 className="break-words font-semibold text-md">{job.template}</h2>
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <StatusDot tone={jobTones[job.status]}>{jobs.statuses[job.status]}</StatusDot>
          <Copyable text={job.id} />
        </div>
      </div>
      <ErrorNote error={error} />
      <Actions job={job} />
      <Tabs
        label={jobs.tabsLabel}
        tabs={tabs}
        value={tabs.some((one) => one.id === tab) ? tab : 'progress'}
        onValue={onTab}
      />
    </div>
  )
}
