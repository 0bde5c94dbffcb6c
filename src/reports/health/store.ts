import { statement } from '../../platform/db/statement.ts'

/** The first probe of a minute counts. */
export const insertProbes = statement<{ parts: string[]; states: string[]; tookMs: number[]; minute: Date }>(
  'health.insert_probes',
  `insert into health_probes (part, minute, state, took_ms)
   select part, :minute, state, took_ms
   from unnest(:parts::text[], :states::text[], :tookMs::int[]) as probe (part, state, took_ms)
   on conflict (part, minute) do nothing`,
)

type PartNow = { part: string; state: 'up' | 'down'; minute: Date }

export const latestProbes = statement<{ parts: string[]; since: Date }, PartNow>(
  'health.latest_probes',
  `select p.part, p.state, p.minute
   from unnest(:parts::text[]) as wanted (part)
   cross join lateral (
     select part, state, minute from health_probes
     where part = wanted.part and minute >= :since
     order by minute desc
     limit 1
   ) p`,
)

export type PartDay = { part: string; day: string; minutes: number; up: number }

export const probesByDay = statement<{ since: Date }, PartDay>(
  'health.probes_by_day',
  `select part, to_char(minute at time zone 'UTC', 'YYYY-MM-DD') as day, count(*)::int as minutes,
     count(*) filter (where state = 'up')::int as up
   from health_probes
   where minute >= :since
   group by 1, 2
   order by 1, 2`,
)

export const deleteOldProbes = statement<{ before: Date; limit: number }>(
  'health.delete_old_probes',
  `delete from health_probes
   where (part, minute) in (select part, minute from health_probes where minute < :before limit :limit)`,
)

/** The earliest message of each org that waits, in the order of the index, without reading the others. */
const earliestByOrg = `
  with recursive earliest as (
    (select org_id, due_at from messages
     where status in ('scheduled', 'sending') order by org_id, due_at limit 1)
    union all
    select next.org_id, next.due_at from earliest e cross join lateral (
      select org_id, due_at from messages
      where status in ('scheduled', 'sending') and org_id > e.org_id order by org_id, due_at limit 1) next
  ), unlinked as (
    (select org_id, created_at from audit_unlinked order by org_id, created_at limit 1)
    union all
    select next.org_id, next.created_at from unlinked u cross join lateral (
      select org_id, created_at from audit_unlinked
      where org_id > u.org_id order by org_id, created_at limit 1) next
  )`

/**
 * Since when the oldest item of each queue waits in each of its states; null when none does. A message or a delivery that
 * a dead worker holds is due again when its claim or lease expires.
 */
export const oldestWaiting = statement<{ now: Date }, { queue: string; state: string; since: Date | null }>(
  'health.oldest_waiting',
  `${earliestByOrg}
   select 'messages' as queue, 'due' as state, (select min(due_at) from earliest where due_at <= :now) as since
   union all select 'events', 'waiting', (select min(created_at) from events)
   union all select 'deliveries', 'due', (
     select due_at from webhook_lanes where due_at <= :now and lease is null order by due_at limit 1)
   union all select 'deliveries', 'lease_expired', (
     select leased_until from webhook_lanes where lease is not null and leased_until <= :now
     order by leased_until limit 1)
   union all select 'audit', 'unlinked', (select min(created_at) from unlinked)
   union all select 'jobs', 'scheduling', (select min(created_at) from jobs where status = 'scheduling')
   union all select 'jobs', 'due', (select min(starts_at) from jobs where status = 'scheduled' and starts_at <= :now)
   union all select 'jobs', 'running', (select min(started_at) from jobs where status = 'running')
   union all select 'exports', 'queued', (
     select min(due_at) from export_jobs where status = 'queued' and due_at <= :now)
   union all select 'exports', 'running', (select min(created_at) from export_jobs where status = 'running')
   union all select 'registrations', 'brand', (
     select min(created_at) from brands where status = 'pending' and provider_status is null)
   union all select 'registrations', 'campaign', (
     select min(created_at) from campaigns where status = 'pending' and provider_status is null)
   union all select 'registrations', 'number', (
     select min(created_at) from phone_numbers where status = 'pending' and provider_status is null)
   union all select 'reservations', 'expired', (
     select min(expires_at) from usage_reservations where expires_at <= :now)
   union all select 'inbound_sms', 'incomplete', (
     select created_at from inbound_sms_parts where taken_at is null order by created_at limit 1)`,
)
