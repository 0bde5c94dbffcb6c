/** Payments through Stripe: its checkout, its portal, and its events. */
import Stripe from 'stripe'
import type { Clock } from '../../platform/ground/clock.ts'
import type { StripeSettings } from '../../platform/ground/config/config.ts'
import { expecting } from '../expected-errors.ts'
import { type Order, type Payer, PaymentFault, type PaymentProvider } from './payment-provider.ts'
import { makeReadCallback } from './stripe-events.ts'

type Needs = StripeSettings & {
  clock: Clock
  /** Where Stripe sends people back to. */
  returnUrl: () => string
}

const openClient = (secretKey: string, apiUrl: string): Stripe => {
  const { protocol, hostname, port } = new URL(apiUrl)
  return new Stripe(secretKey, {
    protocol: protocol === 'http:' ? 'http' : 'https',
    host: hostname,
    ...(port !== '' && { port: Number(port) }),
    // A person waits for the answer. A repeated call has the same idempotency key.
    timeout: 10_000,
    maxNetworkRetries: 1,
    telemetry: false,
  })
}

/** What was canceled already is unknown. */
const isUnknown = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 404

/** The messages of Stripe name ids and fields, but no secrets. */
const calling = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
  try {
    return await call()
  } catch (error) {
    throw new PaymentFault(`${what}: ${(error as Error).message}`, { cause: error })
  }
}

const linkOf = (url: string | null): string => {
  if (url === null) throw new PaymentFault('Stripe returned no page')
  return url
}

/** Stripe refuses a quantity of a price that is paid by use. */
const quantityOf = (price: Stripe.Price) => (price.recurring?.usage_type === 'metered' ? {} : { quantity: 1 })

export const makeStripePayments = (needs: Needs): PaymentProvider => {
  const { apiUrl, secretKey, webhookSecret: secret, prices, clock, returnUrl } = needs
  const stripe = openClient(secretKey, apiUrl)

  const priceOf = (plan: Order['plan']) => stripe.prices.retrieve(prices[plan][0] as string)

  /** A second checkout would begin a second subscription, so Stripe asks to confirm the change of the first. */
  const changeSubscription = async (customer: string, id: string, plan: Order['plan']): Promise<string> => {
    const [price, subscription] = await Promise.all([priceOf(plan), stripe.subscriptions.retrieve(id)])
    const item = subscription.items.data[0]
    if (!item) throw new Error(`subscription ${id} has no item`)
    const session = await stripe.billingPortal.sessions.create({
      customer,
      return_url: returnUrl(),
      flow_data: {
        type: 'subscription_update_confirm',
        after_completion: { type: 'redirect', redirect: { return_url: returnUrl() } },
        subscription_update_confirm: {
          subscription: id,
          items: [{ id: item.id, price: price.id, ...quantityOf(price) }],
        },
      },
    })
    return linkOf(session.url)
  }

  const newSubscription = async ({ orgId, plan, email, customerId }: Order): Promise<string> => {
    const price = await priceOf(plan)
    const session = await stripe.checkout.sessions.create({
      mode: 'subscription',
      client_reference_id: orgId,
      ...(customerId === null ? { customer_email: email } : { customer: customerId }),
      line_items: [{ price: price.id, ...quantityOf(price) }],
      metadata: { org_id: orgId },
      subscription_data: { metadata: { org_id: orgId } },
      success_url: returnUrl(),
      cancel_url: returnUrl(),
    })
    return linkOf(session.url)
  }

  const customerOf = async ({ orgId, email, customerId }: Payer): Promise<string> =>
    customerId ?? (await stripe.customers.create({ email, metadata: { org_id: orgId } })).id

  return {
    name: 'stripe',
    startCheckout: (order) =>
      calling('checkout', () =>
        order.customerId !== null && order.subscriptionId !== null
          ? changeSubscription(order.customerId, order.subscriptionId, order.plan)
          : newSubscription(order),
      ),
    openPortal: (payer) =>
      calling('portal', async () => {
        const customerId = await customerOf(payer)
        const session = await stripe.billingPortal.sessions.create({ customer: customerId, return_url: returnUrl() })
        return { url: linkOf(session.url), customerId }
      }),
    readCallback: makeReadCallback({
      secret,
      clock,
      planOf: (price) => (['pro', 'payg'] as const).find((plan) => prices[plan].includes(price)),
    }),
    findCard: (id) =>
      calling('payment method', async () => {
        const { card } = await stripe.paymentMethods.retrieve(id)
        return card ? { brand: card.brand, last4: card.last4 } : undefined
      }),
    cancel: (id) =>
      calling('cancellation', async () => {
        await expecting(isUnknown, stripe.subscriptions.cancel(id))
      }),
  }
}
