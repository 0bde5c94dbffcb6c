/** Subscriptions, and the events that change them. */
import { statement } from '../../../platform/db/statement.ts'
import type { PaidPlan, SubscriptionStatus } from '../../../providers/payments/payment-provider.ts'

/** Pays for its plan now. */
const pays = "status <> 'pending' and ended_at is null"

type EventFields = {
  orgId: string
  provider: string
  eventId: string
  type: string
  eventAt: Date
  rank: number
  id: string
  plan: PaidPlan
  status: SubscriptionStatus
  periodEndsAt: Date | null
  endsAt: Date | null
  endedAt: Date | null
  at: Date
}

/**
 * Stores the event and, if it is new and no newer one came before it, the state that it reports. `paid` is the plan that
 * the subscription paid for before. The caller holds the lock of the org.
 */
export const applyEvent = statement<EventFields, { fresh: boolean; applied: boolean; paid: PaidPlan | null }>(
  'billing.apply_event',
  `with event as (
     insert into billing_events (org_id, provider, id, type, event_at, received_at)
     values (:orgId, :provider, :eventId, :type, :eventAt, :at)
     on conflict do nothing
     returning id
   ), former as (
     select plan from billing_subscriptions
     where org_id = :orgId and provider = :provider and id = :id and ${pays}
   ), applied as (
     insert into billing_subscriptions as s (org_id, provider, id, plan, status, period_ends_at, ends_at, ended_at,
       event_at, event_rank, created_at, updated_at)
     select :orgId, :provider, :id, :plan, :status, :periodEndsAt::timestamptz, :endsAt::timestamptz,
       :endedAt::timestamptz, :eventAt, :rank::int, :at, :at
     from event
     on conflict (org_id, provider, id) do update set
       plan = excluded.plan, status = excluded.status, period_ends_at = excluded.period_ends_at,
       ends_at = excluded.ends_at, ended_at = excluded.ended_at, event_at = excluded.event_at,
       event_rank = excluded.event_rank, updated_at = excluded.updated_at
     where (s.event_at, s.event_rank) <= (excluded.event_at, excluded.event_rank)
     returning s.id
   )
   select exists (select 1 from event) as fresh, exists (select 1 from applied) as applied,
     (select plan from former) as paid`,
)

export type PayingRow = { id: string; plan: PaidPlan; event_at: Date }

/** The subscriptions that pay for a plan, the highest plan first. */
export const findPaying = statement<{ orgId: string; provider: string }, PayingRow>(
  'billing.find_paying',
  `select id, plan, event_at from billing_subscriptions
   where org_id = :orgId and provider = :provider and ${pays}
   order by array_position(array['enterprise', 'pro', 'payg'], plan), created_at desc`,
)

export const findDueToEnd = statement<{ now: Date; limit: number }, { org_id: string; provider: string; id: string }>(
  'billing.find_due_to_end',
  `select org_id, provider, id from billing_subscriptions
   where ends_at <= :now and ends_at is not null and ended_at is null
   order by ends_at
   limit :limit`,
)

/** Returns the plan that it paid for, or no row if it goes on or has ended already. */
export const endSubscription = statement<
  { orgId: string; provider: string; id: string; now: Date },
  { plan: PaidPlan; status: SubscriptionStatus }
>(
  'billing.end_subscription',
  `update billing_subscriptions set ended_at = :now, updated_at = :now
   where org_id = :orgId and provider = :provider and id = :id and ends_at <= :now and ended_at is null
   returning plan, status`,
)

/** For an org that is being deleted. */
export const closeSubscription = statement<{ orgId: string; provider: string; id: string; at: Date }>(
  'billing.close_subscription',
  `update billing_subscriptions set ended_at = :at, updated_at = :at
   where org_id = :orgId and provider = :provider and id = :id and ended_at is null`,
)

export const sweepEvents = statement<{ before: Date; limit: number }>(
  'billing.sweep_events',
  `delete from billing_events
   where (org_id, provider, id) in (
     select org_id, provider, id from billing_events where received_at < :before order by received_at limit :limit
   )`,
)
