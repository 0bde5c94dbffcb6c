/** Which messages and events stay after the retention of messages. */
import { timeLiteral } from '../../../platform/db/months.ts'
import type { RowRules } from '../../../platform/db/remove-months.ts'

const waits = "r.status in ('scheduled', 'sending')"

/** A message that was deferred can fail long after it was to be sent. */
const failedAt = "case when r.status = 'failed' then (r.history -> -1 ->> 'at')::timestamptz end"

/**
 * A message can be scheduled for a year ahead, so its age counts from its end too, not only from its creation. One that
 * waits stays, and so do all messages of a job that is not over, because the end of the job counts them.
 */
const staysSince = (since: string): string =>
  `(${waits}
    or coalesce(greatest(r.scheduled_at, r.sent_at, r.canceled_at, r.claimed_at, ${failedAt}) >= ${since}, false)
    or (r.job_id is not null and (r.org_id, r.job_id) in (
      select org_id, id from jobs where status in ('scheduling', 'scheduled', 'running'))))`

/** Adds messages of jobs, as rows of org, job, status and number, to those that were removed before. */
const addToJobs = (counted: string): string =>
  `insert into removed_job_messages as held (org_id, job_id, status, messages)
   select g.org_id, g.job_id, g.status, g.messages
   from ${counted} g join jobs j on j.org_id = g.org_id and j.id = g.job_id
   order by g.org_id, g.job_id, g.status
   on conflict (org_id, job_id, status) do update set messages = held.messages + excluded.messages`

/** A late report can still change the status of a message after it was counted for its job. */
export const messageRules = (since: Date): RowRules => ({
  table: 'messages',
  timeColumn: 'created_at',
  stays: staysSince(timeLiteral(since)),
  open: waits,
  record: {
    collect: (rows) =>
      `select r.org_id, r.job_id, r.status, count(*) as messages
       from ${rows} r
       where r.job_id is not null and not ${staysSince(timeLiteral(since))}
       group by r.org_id, r.job_id, r.status`,
    store: addToJobs,
  },
})

export const messageEventRules: RowRules = {
  table: 'message_events',
  timeColumn: 'at',
  stays: 'false',
  open: 'false',
}
