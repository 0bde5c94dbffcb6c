import { statement } from '../../db/statement.ts'
import { type DomainRow, domainColumns } from './domain-rows.ts'

/** Returns no row while a warmup window is open. */
export const startWarmup = statement<{ orgId: string; id: string; days: number; endsAt: Date; at: Date }, DomainRow>(
  'domains.start_warmup',
  `update domains set warmup_days = :days, warmup_started_at = :at, warmup_ends_at = :endsAt, updated_at = :at
   where org_id = :orgId and id = :id and (warmup_ends_at is null or warmup_ends_at <= :at)
   returning ${domainColumns}`,
)

export const endWarmup = statement<{ orgId: string; id: string; at: Date }, DomainRow>(
  'domains.end_warmup',
  `update domains set warmup_days = null, warmup_started_at = null, warmup_ends_at = null, updated_at = :at
   where org_id = :orgId and id = :id
   returning ${domainColumns}`,
)

/** How many recipients each domain in warmup has sent to on the day. */
export const warmupSent = statement<{ orgId: string; ids: string[]; day: string }, { subject: string; used: number }>(
  'domains.warmup_sent',
  `select subject, used from usage_counters
   where org_id = :orgId and subject = any(:ids::text[])
     and environment = 'live' and measure = 'warmup' and period = :day`,
)
