/** Orgs as customers of the payment provider, and what the billing page shows. */
import type { Plan } from '../../../customers/orgs/plans.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { SubscriptionStatus } from '../../../providers/payments/payment-provider.ts'

export const findPayer = statement<
  { orgId: string; userId: string; provider: string },
  { plan: Plan; email: string; customer_id: string | null }
>(
  'billing.find_payer',
  `select o.plan, u.email, c.customer_id
   from orgs o join users u on u.id = :userId
     left join billing_customers c on c.org_id = o.id and c.provider = :provider
   where o.id = :orgId and o.deleted_at is null`,
)

export const keepCustomer = statement<{ orgId: string; provider: string; customerId: string; at: Date }>(
  'billing.keep_customer',
  `insert into billing_customers as c (org_id, provider, customer_id, updated_at)
   values (:orgId, :provider, :customerId, :at)
   on conflict (org_id, provider) do update set customer_id = excluded.customer_id, updated_at = excluded.updated_at
   where c.customer_id <> excluded.customer_id`,
)

/** Changes nothing if a newer event has set the card. */
export const setCard = statement<{
  provider: string
  customerId: string
  brand: string | null
  last4: string | null
  eventAt: Date
  at: Date
}>(
  'billing.set_card',
  `update billing_customers
   set card_brand = :brand, card_last4 = :last4, card_event_at = :eventAt, updated_at = :at
   where provider = :provider and customer_id = :customerId
     and (card_event_at is null or card_event_at <= :eventAt)`,
)

export type BillingRow = {
  api_keys: number
  domains: number
  members: number
  card_brand: string | null
  card_last4: string | null
  status: SubscriptionStatus | null
  period_ends_at: Date | null
  ends_at: Date | null
}

export const findBilling = statement<{ orgId: string; provider: string }, BillingRow>(
  'billing.find',
  `select (select count(*) from api_keys where org_id = :orgId and revoked_at is null) as api_keys,
     (select count(*) from domains where org_id = :orgId) as domains,
     (select count(*) from memberships where org_id = :orgId) as members,
     c.card_brand, c.card_last4, s.status, s.period_ends_at, s.ends_at
   from orgs o
     left join billing_customers c on c.org_id = o.id and c.provider = :provider
     left join lateral (
       select status, period_ends_at, ends_at from billing_subscriptions
       where org_id = :orgId and provider = :provider and status <> 'pending' and ended_at is null
       order by array_position(array['enterprise', 'pro', 'payg'], plan), created_at desc
       limit 1
     ) s on true
   where o.id = :orgId and o.deleted_at is null`,
)
