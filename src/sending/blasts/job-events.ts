/** The events of a job. */
import type { NewEvent } from '../../journal/events/append-events.ts'
import { iso } from '../../platform/ground/instant.ts'
import type { FinishedJob } from './store/job-progress.ts'
import type { JobRow } from './store/job-rows.ts'

type Subject = Pick<JobRow, 'org_id' | 'id' | 'tenant_id' | 'environment' | 'audience_id' | 'channel' | 'total'>

const ofJob = (
  { org_id, id, tenant_id, environment, audience_id, channel, total }: Subject,
  event: NewEvent['event'],
  status: string,
  more: Record<string, unknown>,
): NewEvent => ({
  orgId: org_id,
  tenantId: tenant_id,
  environment,
  event,
  data: { id, status, audience_id, channel, total, ...more },
})

export const jobStarted = (job: Subject, startedAt: Date): NewEvent =>
  ofJob(job, 'job.started', 'sending', { started_at: iso(startedAt) })

type Completed = Subject & Pick<FinishedJob, 'sent' | 'delivered' | 'failed' | 'canceled' | 'suppressed'>

export const jobCompleted = (job: Completed, completedAt: Date): NewEvent => {
  const { sent, delivered, failed, canceled, suppressed } = job
  const counts = { sent, delivered, failed, canceled, suppressed }
  return ofJob(job, 'job.completed', 'completed', { ...counts, completed_at: iso(completedAt) })
}

export const jobCanceled = (job: Subject, counts: { sent: number; canceled: number }, canceledAt: Date): NewEvent =>
  ofJob(job, 'job.canceled', 'canceled', { ...counts, canceled_at: iso(canceledAt) })
