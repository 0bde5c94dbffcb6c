import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { CircleCheck } from 'lucide-react'
import type { ComponentType } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { blasts } from '../../../strings/blasts.ts'
import { Button, buttonClasses } from '../../../ui/button.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { PageSkeleton } from '../../../ui/skeleton.tsx'
import { Page, Section, Wizard } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import type { Audience } from '../use-contacts.ts'
import { useBlast } from './blast-draft.ts'
import { doneSteps, type StepId, type StepProps, stepOrder } from './blast-steps.ts'
import { BlastSummary } from './blast-summary.tsx'
import { ReviewStep } from './review-step.tsx'
import { ScheduleStep } from './schedule-step.tsx'
import { SenderStep } from './sender-step.tsx'
import { SubjectsStep } from './subjects-step.tsx'
import { TemplateStep } from './template-step.tsx'
import { VariablesStep } from './variables-step.tsx'

const views: Record<Exclude<StepId, 'review'>, ComponentType<StepProps>> = {
  template: TemplateStep,
  sender: SenderStep,
  variables: VariablesStep,
  subjects: SubjectsStep,
  schedule: ScheduleStep,
}

const Sent = ({ audienceId, jobId }: { audienceId: string; jobId: string }) => (
  <EmptyState
    icon={<CircleCheck aria-hidden className="size-8 text-ok" />}
    title={blasts.sent}
    action={
      <div className="flex flex-wrap justify-center gap-2">
        <a href={`/messages?view=jobs&open=${encodeURIComponent(jobId)}`} className={buttonClasses('primary')}>
          {blasts.openJob}
        </a>
        <a href={`/audiences/${audienceId}`} className={buttonClasses()}>
          {blasts.another}
        </a>
      </div>
    }
  >
    {blasts.sentHelp}
    <div className="mt-2 font-mono text-xs">{jobId}</div>
  </EmptyState>
)

const Steps = ({ audience }: { audience: Audience }) => {
  const [{ step }, go] = useFilters({ step: 'template', job: '' })
  const { blast, change, forget } = useBlast(audience.id)
  const done = doneSteps(blast)
  const current = stepOrder.find((known) => known === step) ?? 'template'
  const next = stepOrder[stepOrder.indexOf(current) + 1]
  const ready = stepOrder.every((id) => id === 'review' || done[id])
  const sent = (job: string) => {
    go({ step: '', job })
    forget()
  }
  const missing = done[current] ? undefined : blast.template === '' ? blasts.templateFirst : blasts.correctFirst
  const View = current === 'review' ? undefined : views[current]
  return (
    <Wizard
      steps={stepOrder.map((id) => ({
        id,
        title: blasts.steps[id],
        done: done[id],
        href: `/audiences/${audience.id}/send?step=${id}`,
      }))}
      current={current}
      summary={<BlastSummary blast={blast} members={audience.member_count} />}
    >
      <Section title={blasts.steps[current]}>
        <div className="flex max-w-xl flex-col gap-4">
          {View ? (
            <View blast={blast} change={change} />
          ) : (
            <ReviewStep audienceId={audience.id} blast={blast} ready={ready} onSent={sent} />
          )}
          {next && (
            <div className="flex gap-2">
              <Button look="primary" reason={missing} onClick={() => go({ step: next })}>
                {blasts.next}
              </Button>
              <Button look="quiet" onClick={forget}>
                {blasts.discard}
              </Button>
            </div>
          )}
        </div>
      </Section>
    </Wizard>
  )
}

const BlastPage = () => {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const [{ job }] = useFilters({ job: '' })
  const { data, error } = useQuery({
    queryKey: ['audiences', id],
    queryFn: async () => (await unwrap(api.GET('/api/internal/audiences', { params: { query: { id } } }))) as Audience,
  })
  if (!data && !error) return <PageSkeleton />
  return (
    <Page title={blasts.title(data?.name ?? '')}>
      <ErrorNote error={error} />
      {data && (job ? <Sent audienceId={id} jobId={job} /> : <Steps audience={data} />)}
    </Page>
  )
}

export default BlastPage
