/** The progress of jobs: their first message, their end, and jobs whose scheduling stopped. */
import { statement } from '../../../platform/db/statement.ts'
import { type JobRow, jobColumns } from './job-rows.ts'

/** Returns the job the first time only. A canceled job does not start any more. */
export const markStarted = statement<{ orgId: string; id: string; at: Date }, JobRow>(
  'blasts.start_job',
  `update jobs j set started_at = :at, status = case when j.status = 'scheduled' then 'running' else j.status end
   where j.org_id = :orgId and j.id = :id and j.started_at is null and j.status <> 'canceled'
   returning ${jobColumns.of('j')}`,
)

/**
 * One look at the index on org, job and status for each job. The order keeps the planner from reading the whole table,
 * which it would expect to contain such a message near its beginning.
 */
const noneLeft = `(
       select m.id from messages m
       where m.org_id = j.org_id and m.job_id = j.id and m.job_id is not null
         and m.status in ('scheduled', 'sending')
       order by m.org_id, m.job_id, m.status
       limit 1
     ) is null`

/** Jobs that have no message left to send. Jobs that start later are not looked at. */
export const listFinished = statement<{ now: Date; limit: number }, { org_id: string; id: string }>(
  'blasts.list_finished',
  `select j.org_id, j.id
   from jobs j
   where j.status in ('scheduled', 'running') and j.starts_at <= :now and ${noneLeft}
   limit :limit`,
)

export type FinishedJob = JobRow & {
  sent: number
  delivered: number
  failed: number
  canceled: number
  /** Null if no message of the job was sent, or if the start was recorded before. */
  unreported_start: Date | null
}

/**
 * Completes a job, once. Messages of all its statuses are counted here for the event. If the process died before it
 * recorded the start, the start is recorded too.
 */
export const markCompleted = statement<{ orgId: string; id: string; at: Date }, FinishedJob>(
  'blasts.complete_job',
  `with counted as (
     select count(*) filter (where sent_at is not null)::int as sent,
       count(*) filter (where status = 'delivered')::int as delivered,
       count(*) filter (where status = 'failed')::int as failed,
       count(*) filter (where status = 'canceled')::int as canceled,
       min(sent_at) as first_sent_at
     from messages
     where org_id = :orgId and job_id = :id
   ), before as (
     select started_at from jobs where org_id = :orgId and id = :id
   )
   update jobs j set status = 'completed', completed_at = :at,
     started_at = coalesce(j.started_at, counted.first_sent_at)
   from counted, before
   where j.org_id = :orgId and j.id = :id and j.status in ('scheduled', 'running') and ${noneLeft}
   returning ${jobColumns.of('j')}, counted.sent, counted.delivered, counted.failed, counted.canceled,
     case when before.started_at is null then counted.first_sent_at end as unreported_start`,
)

/** Jobs whose request was cut off: the messages that were scheduled are sent. */
export const giveUpScheduling = statement<{ before: Date }, { org_id: string; id: string }>(
  'blasts.give_up_scheduling',
  `update jobs j set status = case when j.started_at is null then 'scheduled' else 'running' end, incomplete = true,
     scheduled = (select count(*) from messages m where m.org_id = j.org_id and m.job_id = j.id)
   where j.status = 'scheduling' and j.created_at < :before
   returning j.org_id, j.id`,
)
