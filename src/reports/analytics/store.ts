/**
 * Figures of messages by day. An event of a message passes through the outbox. When it leaves it, a trigger adds it to
 * `analytics_days`, or to `analytics_queue` if that takes a closer look. New messages whose event nobody would receive are
 * in `analytics_counts` instead. The worker adds the queue and the counts to the days. A read adds up all four, in one
 * statement and so in one snapshot, which makes it exact at any moment.
 */
import { statement } from '../../platform/db/statement.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import type { Environment } from '../../platform/ground/scope.ts'

export const figures = [
  'sent',
  'delivered',
  'bounced',
  'failed',
  'complained',
  'opened',
  'clicked',
  'unsubscribed',
] as const
export type Figure = (typeof figures)[number]

/** These can happen several times to a message and count once. The others happen once. */
const countedOnce = "('complained', 'opened', 'clicked', 'unsubscribed')"

const amounts = figures
  .map((kind) => `coalesce(sum(amount) filter (where kind = '${kind}'), 0) as ${kind}`)
  .join(',\n       ')
const sums = figures.map((kind) => `sum(${kind})::bigint as ${kind}`).join(', ')
const columns = figures.join(', ')

/**
 * The message of an event, found by its primary key: its id contains its time of creation. The limit keeps the planner
 * from reading the messages in any other way, whatever it expects of the queue.
 */
const itsMessage = `lateral (
       select id, environment, tenant_id, project_id, channel, job_id, metadata, sent_at, claim, claimed_at
       from messages
       where org_id = h.org_id and id = h.message_id and created_at = time_of_id(h.message_id)
       limit 1
     ) m`

/** A message that was never sent belongs to the day of the event, such as its failure. */
const day = "(coalesce(m.sent_at, h.at) at time zone 'UTC')::date"
/** Only jobs have variants: a few letters for each job. */
const variant = "case when m.job_id is not null then m.metadata ->> 'subject_variant' end"

/**
 * Adds a part of the queue to the days, and returns how many events that were. A report can arrive while a message is
 * being sent and has no `sent_at` yet; it waits until the claim on the message ends. An event whose message or org is
 * gone is dropped.
 */
export const rollUpEvents = statement<{ limit: number; staleBefore: Date }, { events: number }>(
  'analytics.roll_up',
  `with ready as materialized (
     select h.org_id, h.id, h.message_id, h.kind, m.environment, m.tenant_id, m.project_id, m.channel, m.job_id,
       ${variant} as variant, ${day} as day
     from analytics_queue h left join ${itsMessage} on true
     where m.id is null or m.sent_at is not null or m.claim is null or m.claimed_at < :staleBefore
     limit :limit
     for update of h skip locked
   ), deleted as (
     delete from analytics_queue q using ready r where q.org_id = r.org_id and q.id = r.id
   ), firsts as (
     insert into analytics_firsts (org_id, message_id, kind, day)
     select distinct org_id, message_id, kind, day
     from ready
     where environment is not null and kind in ${countedOnce}
     order by org_id, message_id, kind
     on conflict do nothing
     returning org_id, message_id, kind
   ), counted as (
     select org_id, environment, tenant_id, project_id, channel, day, job_id, variant, kind
     from ready
     where environment is not null and kind not in ${countedOnce}
     union all
     select org_id, environment, tenant_id, project_id, channel, day, job_id, variant, kind
     from firsts join (
       select distinct on (org_id, message_id, kind)
         org_id, message_id, kind, environment, tenant_id, project_id, channel, day, job_id, variant
       from ready
     ) r using (org_id, message_id, kind)
   ), grouped as (
     select org_id, environment, tenant_id, project_id, channel, day, job_id, variant, kind, count(*) as amount
     from counted
     group by 1, 2, 3, 4, 5, 6, 7, 8, 9
   )
   select (select count(*) from ready) as events, add_figures(array_agg(org_id), array_agg(environment),
     array_agg(tenant_id), array_agg(project_id), array_agg(channel), array_agg(day), array_agg(job_id),
     array_agg(variant), array_agg(kind), array_agg(amount))::text as added
   from grouped`,
)

/** Adds a part of the counts to the days, and returns how many rows and messages that were. */
export const rollUpCounts = statement<{ limit: number }, { rows: number; messages: number }>(
  'analytics.roll_up_counts',
  `with ready as materialized (
     select org_id, id, environment, tenant_id, project_id, channel, day, kind, amount
     from analytics_counts
     limit :limit
     for update skip locked
   ), deleted as (
     delete from analytics_counts c using ready r where c.org_id = r.org_id and c.id = r.id
   )
   select count(*) as rows, coalesce(sum(amount), 0)::bigint as messages, add_figures(array_agg(org_id),
     array_agg(environment), array_agg(tenant_id), array_agg(project_id), array_agg(channel), array_agg(day),
     array_agg(null::text), array_agg(null::text), array_agg(kind), array_agg(amount))::text as added
   from ready`,
)

export type FiguresRow = { day: string | null; job_id: string | null; variant: string | null } & Record<Figure, number>

export type GroupBy = 'day' | 'job' | 'variant'

type ReadParams = {
  orgId: string
  environment: Environment
  /** '' for the whole org. */
  tenantId: string
  projectId: string | null
  from: string
  by: GroupBy
  job: string | null
  variant: string | null
  channel: Channel | null
  /** The parts of `analytics_days` to read. */
  parts: string[]
  limit: number
}

/** Whether a message of no job counts. It has no variant. */
const withOther = ":by <> 'variant' and :job::text is null and :variant::text is null"

/** What happened to messages of the org and is not yet in `analytics_days`, each message and kind once. */
const tail = `select ${day} as day, coalesce(m.job_id, '') as job_id, coalesce(${variant}, '') as variant, h.kind
     from (
       select distinct on (org_id, message_id, kind) org_id, message_id, kind, at
       from (
         select org_id, message_id, kind, at from analytics_queue where org_id = :orgId
         union all
         select org_id, data ->> 'message_id', substr(event, 9), created_at
         from events
         where org_id = :orgId and event like 'message.%' and data ->> 'message_id' is not null
       ) waiting
       order by org_id, message_id, kind, at
     ) h cross join ${itsMessage}
     where m.environment = :environment
       and (:tenantId = '' or m.tenant_id = :tenantId)
       and (:projectId::text is null or m.project_id = :projectId)
       and (:channel::text is null or m.channel = :channel)
       and not exists (
         select from analytics_firsts f
         where f.org_id = h.org_id and f.message_id = h.message_id and f.kind = h.kind)`

const readFigures = (rolledUp: string): string => `with tail as (
     ${tail}
   ), all_figures as (
     select day, job_id, variant, ${columns} from (${rolledUp}) rolled_up
     union all
     select day, job_id, variant, ${amounts}
     from (
       select day, job_id, variant, kind, 1 as amount from tail
       union all
       select day, '', '', kind, amount
       from analytics_counts
       where org_id = :orgId and environment = :environment and (:tenantId = '' or tenant_id = :tenantId)
         and (:projectId::text is null or project_id = :projectId) and (:channel::text is null or channel = :channel)
     ) waiting
     where day >= :from::date
       and (job_id <> '' or (${withOther}))
       and (:job::text is null or job_id = :job)
       and (:variant::text is null or variant = :variant)
     group by 1, 2, 3
   )
   select case when :by = 'day' then to_char(day, 'YYYY-MM-DD') end as day,
     case when :by <> 'day' then nullif(job_id, '') end as job_id,
     case when :by = 'variant' then variant end as variant, ${sums}
   from all_figures
   where :by <> 'variant' or variant <> ''
   group by 1, 2, 3
   order by 1, 2 desc nulls last, 3
   limit :limit`

const inScope = `org_id = :orgId and environment = :environment and tenant_id = :tenantId
       and (:projectId::text is null or project_id = :projectId) and day >= :from::date`

const ofChannel = `(:channel::text is null or part <> 'job' or exists (
         select from jobs j where j.org_id = :orgId and j.id = analytics_days.job_id and j.channel = :channel))`

/** The parts that add up to all messages of a channel, or of all channels. */
export const partsOf = {
  days: (channel: Channel | undefined): string[] =>
    channel === undefined ? ['other', 'jobs'] : [`other_${channel}`, `jobs_${channel}`],
  jobs: (channel: Channel | undefined): string[] => [channel === undefined ? 'other' : `other_${channel}`, 'job'],
}

/** One statement per index. */
export const readAnalytics = {
  /** All messages by day: two rows a day, however many jobs there are. */
  byDay: statement<ReadParams, FiguresRow>(
    'analytics.read_days',
    readFigures(`select day, job_id, variant, ${columns} from analytics_days
       where ${inScope} and part = any(:parts::text[])`),
  ),
  /** By job or variant, or by day for all messages with a variant. */
  byJob: statement<ReadParams, FiguresRow>(
    'analytics.read_jobs',
    readFigures(`select day, job_id, variant, ${columns} from analytics_days
       where ${inScope} and part = any(:parts::text[]) and (part = 'job' or (${withOther}))
         and (:variant::text is null or variant = :variant) and ${ofChannel}`),
  ),
  ofJob: statement<ReadParams, FiguresRow>(
    'analytics.read_job',
    readFigures(`select day, job_id, variant, ${columns} from analytics_days
       where ${inScope} and part = 'job' and part = any(:parts::text[]) and job_id = :job
         and (:variant::text is null or variant = :variant) and ${ofChannel}`),
  ),
}

export const sweepDays = statement<{ before: string; limit: number }>(
  'analytics.sweep_days',
  `delete from analytics_days where ctid = any(array(
     select ctid from analytics_days
     where day - date '2000-01-01' < :before::date - date '2000-01-01'
     limit :limit
     for update skip locked))`,
)

export const sweepFirsts = statement<{ before: string; limit: number }>(
  'analytics.sweep_firsts',
  `delete from analytics_firsts where ctid = any(array(
     select ctid from analytics_firsts where day < :before::date limit :limit for update skip locked))`,
)
