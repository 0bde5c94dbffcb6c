import { columns, json, type RowOf, text, time } from '../../platform/db/columns.ts'
import { statement, unseen } from '../../platform/db/statement.ts'
import type { Plan } from '../orgs/plans.ts'
import type { CounterColumns, Parts, SettledUsage } from './lines.ts'

/**
 * Makes several reservations in one statement. It locks the counters in a fixed order, accepts or refuses each
 * reservation as a whole in the given order, and writes the accepted ones with the alerts they cause. If a recipient is
 * suppressed or a message already has a reservation, it only returns these. See reserve_sends in the migrations.
 */
export const reserveUsage = statement<
  {
    recipientOrgs: string[]
    recipientTenants: (string | null)[]
    recipientChannels: string[]
    recipients: string[]
    broadcasts: boolean[]
    heldOrgs: string[]
    heldIds: string[]
    heldClaims: (string | null)[]
    heldAt: Date[]
    heldParts: string[]
    heldReservations: number[]
    expiresAt: Date
    orgIds: string[]
    lineReservation: number[]
    lineCounter: number[]
    amounts: number[]
    caps: (number | null)[]
    alertKinds: (string | null)[]
    alertIds: (string | null)[]
    channels: string[]
    at: Date
  } & CounterColumns,
  {
    blocked: number[] | null
    held: { n: number; at: string; parts: Parts }[] | null
    refused_lines: number[] | null
  }
>(
  'usage.reserve',
  `select blocked, held, refused_lines from reserve_sends(
     :recipientOrgs::text[], :recipientTenants::text[], :recipientChannels::text[], :recipients::text[],
     :broadcasts::boolean[],
     :heldOrgs::text[], :heldIds::text[], :heldClaims::text[], :heldAt::timestamptz[], :heldParts::jsonb[],
     :heldReservations::int[], :expiresAt,
     :orgIds::text[], :subjects::text[], :environments::text[], :measures::text[], :periods::text[],
     :lineReservation::int[], :lineCounter::int[], :amounts::bigint[], :caps::bigint[],
     :alertKinds::text[], :alertIds::text[], :channels::text[], :at)`,
)

/**
 * Subtracts released amounts. A stored reservation is released only if it exists with this claim and still has the part,
 * which is then removed from it: so nothing is released twice. The counters are locked in the same order as by
 * reservations, so that the two cannot deadlock. A counter never goes below zero.
 */
export const releaseUsage = statement<
  {
    /** One per release. All are null for usage that was reserved without a stored reservation. */
    storedOrgs: (string | null)[]
    ids: (string | null)[]
    claims: (string | null)[]
    messageIds: (string | null)[]
    /** What the message still uses. Null removes it from the reservation. */
    left: (string | null)[]
    /** One per line: the number of its release, from 1, and its counter. */
    lineRelease: number[]
    orgIds: string[]
    amounts: number[]
  } & CounterColumns
>(
  'usage.release',
  `with releases as materialized (
     select org_id, id, claim, message_id, still_used, n
     from unnest(:storedOrgs::text[], :ids::text[], :claims::text[], :messageIds::text[], :left::jsonb[])
       with ordinality as r (org_id, id, claim, message_id, still_used, n)
   ), removed as (
     delete from usage_reservations u using releases r
     where u.org_id = r.org_id and u.id = r.id and u.claim is not distinct from r.claim
       and u.parts ? r.message_id and r.still_used is null and u.parts - r.message_id = '{}'
     returning r.n
   ), reduced as (
     update usage_reservations u
     set parts = case when r.still_used is null then u.parts - r.message_id
       else jsonb_set(u.parts, array[r.message_id], r.still_used) end
     from releases r
     where u.org_id = r.org_id and u.id = r.id and u.claim is not distinct from r.claim
       and u.parts ? r.message_id
       and case when r.still_used is null then u.parts - r.message_id <> '{}'
         else u.parts -> r.message_id <> r.still_used end
     returning r.n
   ), released as (
     select n from removed union all select n from reduced union all select n from releases where id is null
   ), amounts as (
     select l.org_id, l.subject, l.environment, l.measure, l.period, sum(l.amount)::bigint as amount
     from unnest(
       :lineRelease::int[], :orgIds::text[], :subjects::text[], :environments::text[], :measures::text[],
       :periods::text[], :amounts::bigint[]
     ) as l (n, org_id, subject, environment, measure, period, amount)
     join released using (n)
     group by l.org_id, l.subject, l.environment, l.measure, l.period
   ), held as (
     select c.org_id, c.subject, c.environment, c.measure, c.period, a.amount
     from amounts a join usage_counters c using (org_id, subject, environment, measure, period)
     order by concat_ws(' ', c.org_id, c.subject, c.environment, c.measure, c.period) collate "C"
     for update of c
   )
   update usage_counters c set used = greatest(0, c.used - h.amount)
   from held h
   where c.org_id = h.org_id and c.subject = h.subject and c.environment = h.environment
     and c.measure = h.measure and c.period = h.period`,
)

/** Leases usage of the counters of one org for a number of messages. See lease_usage in the migrations. */
export const leaseUsage = statement<
  {
    orgId: string
    id: string
    amounts: number[]
    caps: (number | null)[]
    wanted: number
    fewest: number
    expiresAt: Date
  } & CounterColumns,
  { granted: number }
>(
  'usage.lease',
  `select granted from lease_usage(:orgId, :id, :subjects::text[], :environments::text[], :measures::text[],
     :periods::text[], :amounts::bigint[], :caps::bigint[], :wanted, :fewest, :expiresAt)`,
)

/** Deletes a lease, unless somebody else did, and takes its amounts from the counters, in their fixed order. */
export const returnLease = statement<{ orgId: string; id: string }, { id: string }>(
  'usage.return_lease',
  `with returned as (
     delete from usage_leases where org_id = :orgId and id = :id
     returning org_id, id, subjects, environments, measures, periods, amounts
   ), locked as (
     select c.org_id, c.subject, c.environment, c.measure, c.period, l.amount
     from returned r
     cross join unnest(r.subjects, r.environments, r.measures, r.periods, r.amounts) with ordinality
       as l (subject, environment, measure, period, amount, n)
     join usage_counters c on c.org_id = r.org_id and c.subject = l.subject and c.environment = l.environment
       and c.measure = l.measure and c.period = l.period
     where l.amount > 0
     order by l.n
     for update of c
   ), reduced as (
     update usage_counters c set leased = greatest(0, c.leased - l.amount)
     from locked l
     where c.org_id = l.org_id and c.subject = l.subject and c.environment = l.environment
       and c.measure = l.measure and c.period = l.period
   )
   select id from returned`,
)

export const findExpiredLeases = statement<{ now: Date; limit: number }, { org_id: string; id: string }>(
  'usage.find_expired_leases',
  'select org_id, id from usage_leases where expires_at <= :now order by expires_at limit :limit',
)

/** See settle_recorded in the migrations. */
export const settleRecordedCall = `settle_recorded(:reservedOrgs::text[], :reservedIds::text[], :countedOrgs::text[],
     :countedSubjects::text[], :countedEnvironments::text[], :countedMeasures::text[], :countedPeriods::text[],
     :countedAmounts::bigint[])`

export const settleUsage = statement<SettledUsage, { settled: string }>(
  'usage.settle',
  `select ${settleRecordedCall}::text as settled`,
)

const reservationColumns = columns({
  org_id: text,
  id: text,
  claim: text.orNull,
  reserved_at: time,
  expires_at: time,
  parts: json<Parts>(),
})

export type ReservationRow = RowOf<typeof reservationColumns>

export const findExpired = statement<{ now: Date; limit: number }, ReservationRow>(
  'usage.find_expired',
  `select ${reservationColumns} from usage_reservations where expires_at <= :now order by expires_at limit :limit`,
)

export const findReservations = statement<{ orgId: string; ids: string[] }, ReservationRow>(
  'usage.find_reservations',
  `select ${reservationColumns} from usage_reservations where org_id = :orgId and id = any(:ids::text[])`,
)

/** Applies only while nobody has taken the reservation over since it was read. */
export const postponeExpired = statement<{ orgId: string; id: string; expiresAt: Date; until: Date }>(
  'usage.postpone_expired',
  `update usage_reservations set expires_at = :until
   where org_id = :orgId and id = :id and expires_at = :expiresAt`,
)

/** Deletes a reservation, and releases the given amounts of it if it was still as it was read. */
export const settleExpired = statement<
  { orgId: string; id: string; expiresAt: Date; amounts: number[] } & CounterColumns
>(
  'usage.settle_expired',
  `with settled as (
     delete from usage_reservations
     where org_id = :orgId and id = :id and expires_at = :expiresAt
     returning org_id
   ), held as (
     select c.org_id, c.subject, c.environment, c.measure, c.period, l.amount
     from settled s
     cross join (
       select subject, environment, measure, period, sum(amount)::bigint as amount
       from unnest(:subjects::text[], :environments::text[], :measures::text[], :periods::text[], :amounts::bigint[])
         as line (subject, environment, measure, period, amount)
       group by subject, environment, measure, period
     ) l
     join usage_counters c on c.org_id = s.org_id and c.subject = l.subject and c.environment = l.environment
       and c.measure = l.measure and c.period = l.period
     order by concat_ws(' ', c.org_id, c.subject, c.environment, c.measure, c.period) collate "C"
     for update of c
   ), released as (
     update usage_counters c set used = greatest(0, c.used - h.amount)
     from held h
     where c.org_id = h.org_id and c.subject = h.subject and c.environment = h.environment
       and c.measure = h.measure and c.period = h.period
   )
   select org_id from settled`,
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
export const readNamedCounters = statement<{ orgIds: string[] } & CounterColumns, { place: number; used: number }>(
  'usage.read_named',
  `select c.place::int as place, u.used
   from unnest(:orgIds::text[], :subjects::text[], :environments::text[], :measures::text[], :periods::text[])
     with ordinality as c (org_id, subject, environment, measure, period, place)
   join usage_counters u using (org_id, subject, environment, measure, period)`,
)

export type CounterRow = { subject: string; measure: string; used: number }

type MonthOfOrg = { orgId: string; environment: string; period: string }

export const readCounters = statement<MonthOfOrg & { subject: string }, CounterRow>(
  'usage.read',
  `select subject, measure, used from usage_counters
   where org_id = :orgId and subject = :subject and environment = :environment and period = :period`,
)

export const readKeyCounters = statement<MonthOfOrg, CounterRow & { name: string | null }>(
  'usage.read_keys',
  `select c.subject, c.measure, c.used, k.name
   from usage_counters c left join api_keys k on k.org_id = c.org_id and k.id = c.subject
   where c.org_id = :orgId and c.environment = :environment and c.period = :period
     and (c.subject like 'key\\_%' or c.subject = 'no_key')
     and c.used > 0
   order by c.subject`,
)

/** Usage without a message is released when its reservation or lease expires. */
unseen(reserveUsage, releaseUsage, leaseUsage, returnLease, settleUsage)
