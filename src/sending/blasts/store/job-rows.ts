/** Jobs: creating, reading and canceling them. */
import { columns, flag, type Given, json, number, oneOf, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { Channel } from '../../../platform/ground/channel.ts'
import type { Keyset } from '../../../platform/ground/cursor.ts'
import type { Environment, Scope } from '../../../platform/ground/scope.ts'
import type { Status } from '../../messages/store/message-row.ts'
import type { JobWinner } from '../shapes.ts'

type JobStatus = 'scheduling' | 'scheduled' | 'running' | 'completed' | 'canceled'

export const jobColumns = columns({
  org_id: text,
  id: text,
  tenant_id: text.orNull,
  environment: oneOf<Environment>(),
  audience_id: text,
  channel: oneOf<Channel>(),
  status: oneOf<JobStatus>(),
  incomplete: flag,
  from_address: text,
  template: text,
  total: number,
  scheduled: number,
  suppressed: number,
  deferred_quiet_hours: number,
  winner: json<JobWinner | null>(),
  starts_at: time.orNull,
  ends_at: time.orNull,
  created_at: time,
  started_at: time.orNull,
  completed_at: time.orNull,
  canceled_at: time.orNull,
})

export type JobRow = RowOf<typeof jobColumns>

type SetLater = 'incomplete' | 'scheduled' | 'deferred_quiet_hours' | 'started_at' | 'canceled_at'

/** Inserts nothing if the org was deleted. A deletion that runs at the same time waits, and then cancels the job. */
export const insertJob = statement<
  Given<JobRow, Exclude<keyof JobRow, SetLater | 'winner'>> & {
    projectId: string
    keyId: string | null
    winner: string | null
  },
  JobRow
>(
  'blasts.insert_job',
  `insert into jobs (org_id, id, tenant_id, environment, project_id, key_id, audience_id, channel, status,
     from_address, template, total, suppressed, winner, starts_at, ends_at, created_at, completed_at)
   select :orgId, :id, :tenantId, :environment, :projectId, :keyId, :audienceId, :channel, :status, :fromAddress, :template,
     :total, :suppressed, :winner::jsonb, :startsAt::timestamptz, :endsAt::timestamptz, :createdAt::timestamptz,
     :completedAt::timestamptz
   from orgs where id = :orgId and deleted_at is null
   for share
   returning ${jobColumns}`,
)

/** Ends scheduling. Changes nothing if the job was canceled or given up meanwhile. */
export const endScheduling = statement<
  { orgId: string; id: string; scheduled: number; deferred: number; incomplete: boolean },
  { id: string }
>(
  'blasts.end_scheduling',
  `update jobs set status = case when started_at is null then 'scheduled' else 'running' end,
     scheduled = :scheduled, deferred_quiet_hours = :deferred, incomplete = :incomplete
   where org_id = :orgId and id = :id and status = 'scheduling'
   returning id`,
)

/**
 * The messages of a job by status, those that retention has removed included. Reads only the index on org, job and
 * status, and a job has at most 10,000 messages.
 */
const countsOfJob = `(select coalesce(jsonb_object_agg(status, n), '{}')
    from (select status, sum(n)::bigint as n
      from (
        select m.status, count(*) as n from messages m
        where m.org_id = j.org_id and m.job_id = j.id and m.job_id is not null
        group by m.status
        union all
        select g.status, g.messages from removed_job_messages g
        where g.org_id = j.org_id and g.job_id = j.id
      ) s
      group by status) c)`

export type CountedJob = JobRow & { counts: Partial<Record<Status, number>> }

/** A null environment is either. */
export const findJob = statement<
  Omit<Scope, 'environment'> & { environment: Environment | null; id: string },
  CountedJob
>(
  'blasts.find_job',
  `select ${jobColumns.of('j')}, ${countsOfJob} as counts
   from jobs j
   where j.org_id = :orgId
     and (:tenantId::text is null or j.tenant_id = :tenantId)
     and (:environment::text is null or j.environment = :environment)
     and (:projectId::text is null or j.project_id = :projectId)
     and j.id = :id`,
)

/** Each environment is a range of the index. */
const pageOfJobs = (tenant: string): string =>
  `select ${jobColumns.of('j')}, ${countsOfJob} as counts
   from (
     select ${jobColumns.of('p')}
     from unnest(:environments::text[]) as e (of_environment)
     cross join lateral (
       select ${jobColumns.of('q')}
       from jobs q
       where q.org_id = :orgId ${tenant}
         and q.environment = e.of_environment
         and (:projectId::text is null or q.project_id = :projectId)
         and (q.created_at, q.id) < (coalesce(:afterAt::timestamptz, 'infinity'), coalesce(:afterId::text, 'zzz'))
       order by q.created_at desc, q.id desc
       limit :limit
     ) p
     order by p.created_at desc, p.id desc
     limit :limit
   ) j
   order by j.created_at desc, j.id desc`

type PageScope = { orgId: string; environments: readonly Environment[]; projectId: string | null }

export const listJobs = statement<PageScope & Keyset, CountedJob>('blasts.list_jobs', pageOfJobs(''))

export const listTenantJobs = statement<PageScope & Keyset & { tenantId: string }, CountedJob>(
  'blasts.list_tenant_jobs',
  pageOfJobs('and q.tenant_id = :tenantId'),
)

/** Returns no row when the job has ended already. */
export const markCanceled = statement<Scope & { id: string; at: Date }, JobRow>(
  'blasts.cancel_job',
  `update jobs j set status = 'canceled', canceled_at = :at
   where j.org_id = :orgId
     and (:tenantId::text is null or j.tenant_id = :tenantId)
     and j.environment = :environment
     and (:projectId::text is null or j.project_id = :projectId)
     and j.id = :id
     and j.status in ('scheduling', 'scheduled', 'running')
   returning ${jobColumns.of('j')}`,
)

/**
 * For an org that is deleted. Waits for a portion of messages that is being moved, which locks its job, so that the
 * messages can be canceled afterwards.
 */
export const cancelJobsOfOrg = statement<{ orgId: string; at: Date }>(
  'blasts.cancel_jobs_of_org',
  `update jobs set status = 'canceled', canceled_at = :at
   where org_id = :orgId and status in ('scheduling', 'scheduled', 'running')`,
)

/** Messages that the scheduler has claimed stay as they are. */
export const cancelJobMessages = statement<{ orgId: string; jobId: string; at: Date; entry: string }>(
  'blasts.cancel_messages',
  `update messages set status = 'canceled', canceled_at = :at, due_at = null, history = history || :entry::jsonb
   where org_id = :orgId and job_id = :jobId and status = 'scheduled'`,
)

/** How many messages of the job were handed to a provider, whatever became of them. */
export const countHandedOver = statement<{ orgId: string; jobId: string }, { sent: number }>(
  'blasts.count_handed_over',
  `select count(*)::int as sent from messages
   where org_id = :orgId and job_id = :jobId and status not in ('scheduled', 'sending') and sent_at is not null`,
)

/** Removes display names of senders. The job and its figures stay, like the messages of the tenant. */
export const eraseTenantSenderNames = statement<{ orgId: string; tenantId: string; limit: number }>(
  'blasts.erase_tenant_sender_names',
  `update jobs set from_address = substring(from_address from '<([^<>]+)>\\s*$')
   where (org_id, id) in (
     select org_id, id from jobs
     where org_id = :orgId and tenant_id = :tenantId and from_address ~ '<[^<>]+>\\s*$'
     limit :limit)`,
)
