import { statement } from '../db/statement.ts'
import type { Plan } from '../orgs/plans.ts'

/**
 * Makes several reservations in one statement. It locks the counters in a fixed order, accepts or refuses each
 * reservation as a whole in the given order, and writes the accepted ones with the alerts they cause. See
 * reserve_usage in the migrations.
 */
export const reserveUsage = statement<
  {
    orgIds: string[]
    subjects: string[]
    environments: string[]
    measures: string[]
    periods: string[]
    lineReservation: number[]
    lineCounter: number[]
    amounts: number[]
    caps: (number | null)[]
    alertKinds: (string | null)[]
    alertIds: (string | null)[]
    channels: string[]
    at: Date
  },
  { refused_lines: number[] }
>(
  'usage.reserve',
  `select refused_lines from reserve_usage(
     :orgIds::text[], :subjects::text[], :environments::text[], :measures::text[], :periods::text[],
     :lineReservation::int[], :lineCounter::int[], :amounts::bigint[], :caps::bigint[],
     :alertKinds::text[], :alertIds::text[], :channels::text[], :at)`,
)

/**
 * Subtracts released amounts. The counters are distinct and locked in the same order as by reservations, so that the
 * two cannot deadlock. A counter never goes below zero, even if an amount is released twice by mistake.
 */
export const releaseUsage = statement<{
  orgIds: string[]
  subjects: string[]
  environments: string[]
  measures: string[]
  periods: string[]
  amounts: number[]
}>(
  'usage.release',
  `with held as (
     select c.org_id, c.subject, c.environment, c.measure, c.period, r.amount
     from unnest(
       :orgIds::text[], :subjects::text[], :environments::text[], :measures::text[], :periods::text[], :amounts::bigint[]
     ) with ordinality as r (org_id, subject, environment, measure, period, amount, place)
     join usage_counters c using (org_id, subject, environment, measure, period)
     order by r.place
     for update of c
   )
   update usage_counters c set used = greatest(0, c.used - h.amount)
   from held h
   where c.org_id = h.org_id and c.subject = h.subject and c.environment = h.environment
     and c.measure = h.measure and c.period = h.period`,
)

export type AllowanceRow = {
  plan: Plan
  email_monthly: number | null
  sms_monthly: number | null
  spend_cap_micros: number | null
  tenant_email_monthly: number | null
  tenant_sms_monthly: number | null
}

export const findAllowance = statement<{ orgId: string; tenantId: string | null }, AllowanceRow>(
  'usage.find_allowance',
  `select o.plan, o.email_monthly, o.sms_monthly, o.spend_cap_micros,
     t.email_monthly as tenant_email_monthly, t.sms_monthly as tenant_sms_monthly
   from orgs o left join tenants t on t.org_id = o.id and t.id = :tenantId
   where o.id = :orgId`,
)

/** The values of the given counters. Counters that were never used are not returned. */
export const readNamedCounters = statement<
  { orgIds: string[]; subjects: string[]; environments: string[]; measures: string[]; periods: string[] },
  { place: number; used: number }
>(
  'usage.read_named',
  `select c.place::int as place, u.used
   from unnest(:orgIds::text[], :subjects::text[], :environments::text[], :measures::text[], :periods::text[])
     with ordinality as c (org_id, subject, environment, measure, period, place)
   join usage_counters u using (org_id, subject, environment, measure, period)`,
)

export type CounterRow = { subject: string; measure: string; used: number }

export const readCounters = statement<
  { orgId: string; subject: string; environment: string; period: string },
  CounterRow
>(
  'usage.read',
  `select subject, measure, used from usage_counters
   where org_id = :orgId and subject = :subject and environment = :environment and period = :period`,
)

export const readKeyCounters = statement<
  { orgId: string; environment: string; period: string },
  CounterRow & { name: string | null }
>(
  'usage.read_keys',
  `select c.subject, c.measure, c.used, k.name
   from usage_counters c left join api_keys k on k.org_id = c.org_id and k.id = c.subject
   where c.org_id = :orgId and c.environment = :environment and c.period = :period
     and (c.subject like 'key\\_%' or c.subject = 'no_key')
     and c.used > 0
   order by c.subject`,
)
