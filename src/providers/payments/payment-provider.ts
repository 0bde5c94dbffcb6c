/** The payment provider: where an org pays for its plan. */

/** The plans that somebody can pay for. `enterprise` is agreed by contract and has no price of its own. */
export const paidPlans = ['payg', 'pro', 'enterprise'] as const
export type PaidPlan = (typeof paidPlans)[number]

/** `pending` was never paid. `unpaid` and `canceled` no longer are. */
export type SubscriptionStatus = 'pending' | 'active' | 'past_due' | 'unpaid' | 'canceled'

export type Subscription = {
  id: string
  customerId: string
  /** Null for a subscription that this service did not start. */
  orgId: string | null
  plan: PaidPlan
  status: SubscriptionStatus
  periodEndsAt: Date | null
  /** When it stops paying for the plan. Null: it goes on. */
  endsAt: Date | null
  paymentMethodId: string | null
}

/** What the provider reports. Its time has whole seconds, so `rank` orders the events of one second. */
export type PaymentEvent = { id: string; type: string; at: Date } & (
  | { kind: 'subscription'; rank: number; subscription: Subscription }
  | { kind: 'card'; customerId: string; paymentMethodId: string | null }
  | { kind: 'other' }
)

export type Order = {
  orgId: string
  plan: 'payg' | 'pro'
  email: string
  /** The org at the provider, if it has paid before. */
  customerId: string | null
  /** The subscription that pays for the present plan. It is changed, so that the org never pays twice. */
  subscriptionId: string | null
}

export type Payer = Pick<Order, 'orgId' | 'email' | 'customerId'>
export type Card = { brand: string; last4: string }

/** All calls except `readCallback` throw PaymentFault when the provider does not do what it is asked. */
export interface PaymentProvider {
  name: string
  /** Returns the page on which the person pays. Nothing changes until they do. */
  startCheckout(order: Order): Promise<string>
  /** Returns the page for cards, invoices and cancellation. */
  openPortal(payer: Payer): Promise<{ url: string; customerId: string }>
  /** Throws SignatureFault unless the provider signed these bytes a short time ago. */
  readCallback(body: Buffer, signature: string | undefined): Promise<PaymentEvent>
  /** Undefined for a payment method that is not a card. */
  findCard(paymentMethodId: string): Promise<Card | undefined>
  /** Ends a subscription at once. One that does not exist counts as ended. */
  cancel(subscriptionId: string): Promise<void>
}

/** The provider refused a call or did not answer. The reason is for the log. */
export class PaymentFault extends Error {
  override name = 'PaymentFault'
}
