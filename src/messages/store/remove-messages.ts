/** Removes messages and their events after the retention of messages. */
import { timeLiteral } from '../../db/months.ts'
import type { RowRules } from '../../db/remove-months.ts'
import { statement } from '../../db/statement.ts'

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
    collect: (partition) =>
      `select r.org_id, r.job_id, r.status, count(*) as messages
       from ${partition} r
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

/** The rest: messages in the default partition, and in months of which many rows stay. */
export const deleteOldMessages = statement<{ before: Date; since: Date; limit: number }, { messages: number }>(
  'messages.delete_old',
  `with old as (
     select r.org_id, r.id, r.created_at
     from messages r
     where r.created_at < :before and not ${staysSince(':since')}
     limit :limit
   ), gone as (
     delete from messages m using old
     where m.org_id = old.org_id and m.id = old.id and m.created_at = old.created_at
     returning m.org_id, m.job_id, m.status
   ), counted as (
     select org_id, job_id, status, count(*) as messages from gone where job_id is not null group by 1, 2, 3
   ), added as (
     ${addToJobs('counted')}
   )
   select count(*) as messages from gone`,
)

export const deleteOldMessageEvents = statement<{ before: Date; limit: number }>(
  'messages.delete_old_events',
  `delete from message_events where (org_id, id, at) in (
     select org_id, id, at from message_events where at < :before limit :limit)`,
)
