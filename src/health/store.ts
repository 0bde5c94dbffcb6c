import { statement } from '../db/statement.ts'

/** The first probe of a minute counts. */
export const insertProbes = statement<{ parts: string[]; states: string[]; tookMs: number[]; minute: Date }>(
  'health.insert_probes',
  `insert into health_probes (part, minute, state, took_ms)
   select part, :minute, state, took_ms
   from unnest(:parts::text[], :states::text[], :tookMs::int[]) as probe (part, state, took_ms)
   on conflict (part, minute) do nothing`,
)

export type PartNow = { part: string; state: 'up' | 'down'; minute: Date }

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
