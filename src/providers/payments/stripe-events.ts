/** Verifies and reads the events of Stripe. The local provider signs events of the same form. */
import type Stripe from 'stripe'
import { z } from 'zod'
import type { Clock } from '../../platform/ground/clock.ts'
import { SignatureFault } from '../bad-signature.ts'
import {
  type PaidPlan,
  type PaymentEvent,
  PaymentFault,
  type Subscription,
  type SubscriptionStatus,
} from './payment-provider.ts'

/** How old a signature may be. Stripe signs each attempt anew. */
const toleranceSeconds = 300

const statuses: Record<string, SubscriptionStatus> = {
  incomplete: 'pending',
  trialing: 'active',
  active: 'active',
  past_due: 'past_due',
  unpaid: 'unpaid',
  paused: 'unpaid',
  canceled: 'canceled',
  incomplete_expired: 'canceled',
}

const typeRanks: Record<string, number> = {
  'customer.subscription.created': 0,
  'customer.subscription.updated': 1,
  'customer.subscription.deleted': 2,
}
const statusRanks: Record<SubscriptionStatus, number> = { pending: 0, active: 1, past_due: 1, unpaid: 1, canceled: 2 }

const idOf = (value: string | { id: string } | null | undefined): string | null =>
  typeof value === 'string' ? value : (value?.id ?? null)

const dateOf = (seconds: number | null | undefined): Date | null =>
  typeof seconds === 'number' ? new Date(seconds * 1_000) : null

/** Before 2025 the period was a field of the subscription. The version is a setting of the endpoint at Stripe. */
const periodEndOf = (subscription: Stripe.Subscription): Date | null =>
  dateOf(
    subscription.items.data[0]?.current_period_end ??
      (subscription as { current_period_end?: number }).current_period_end,
  )

const endOf = (status: SubscriptionStatus, subscription: Stripe.Subscription, at: Date): Date | null => {
  if (status === 'canceled') return at
  if (subscription.cancel_at) return dateOf(subscription.cancel_at)
  const ends = status === 'unpaid' || subscription.cancel_at_period_end
  return ends ? (periodEndOf(subscription) ?? at) : null
}

/** The plan of a price. Undefined for a price that is not configured. */
type PlanOfPrice = (priceId: string) => PaidPlan | undefined

const subscriptionOf = (
  subscription: Stripe.Subscription,
  at: Date,
  planOf: PlanOfPrice,
): Subscription | 'not ours' => {
  const orgId = subscription.metadata?.org_id ?? null
  const priceId = subscription.items.data[0]?.price.id ?? ''
  const plan = planOf(priceId)
  if (!plan) {
    if (orgId === null) return 'not ours'
    // Stripe repeats the event, so nothing is lost while the operator adds the price.
    throw new PaymentFault(`the price ${priceId} of subscription ${subscription.id} is not configured`)
  }
  const status = statuses[subscription.status]
  if (!status) throw new PaymentFault(`subscription ${subscription.id} has the unknown status ${subscription.status}`)
  return {
    id: subscription.id,
    customerId: idOf(subscription.customer) ?? '',
    orgId,
    plan,
    status,
    periodEndsAt: periodEndOf(subscription),
    endsAt: endOf(status, subscription, at),
    paymentMethodId: idOf(subscription.default_payment_method),
  }
}

const eventOf = (event: Stripe.Event, planOf: PlanOfPrice): PaymentEvent => {
  const base = { id: event.id, type: event.type, at: new Date(event.created * 1_000) }
  const typeRank = typeRanks[event.type]
  if (typeRank !== undefined) {
    const subscription = subscriptionOf(event.data.object as Stripe.Subscription, base.at, planOf)
    if (subscription === 'not ours') return { ...base, kind: 'other' }
    return { ...base, kind: 'subscription', rank: typeRank * 3 + statusRanks[subscription.status], subscription }
  }
  if (event.type !== 'customer.updated') return { ...base, kind: 'other' }
  const { id: customerId, invoice_settings } = event.data.object as Stripe.Customer
  return { ...base, kind: 'card', customerId, paymentMethodId: idOf(invoice_settings?.default_payment_method) }
}

/** Enough to recognise an event. The library checks the signature only. */
const StripeEvent = z.object({
  id: z.string().max(255),
  type: z.string(),
  created: z.number(),
  data: z.object({ object: z.looseObject({}).nullable() }),
})

type Needs = { secret: string; clock: Clock; planOf: PlanOfPrice }

export const makeReadCallback =
  ({ secret, clock, planOf }: Needs) =>
  async (body: Buffer, signature: string | undefined): Promise<PaymentEvent> => {
    const now = clock.millis()
    const { default: stripe } = await import('stripe')
    let event: unknown
    try {
      // The library refuses old signatures only.
      const signedAt = Number(/(?:^|,)t=(\d{1,12})(?:,|$)/.exec(signature ?? '')?.[1])
      if (!(signedAt * 1_000 - now <= toleranceSeconds * 1_000)) throw new Error('the signature is from the future')
      event = stripe.webhooks.constructEvent(body, signature ?? '', secret, toleranceSeconds, undefined, now)
    } catch (error) {
      throw new SignatureFault((error as Error).message.split('\n', 1)[0] as string, { cause: error })
    }
    if (!StripeEvent.safeParse(event).success) throw new SignatureFault('the body is not an event')
    return eventOf(event as Stripe.Event, planOf)
  }
