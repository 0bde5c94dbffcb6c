/** The part of Stripe's API that billing uses, on loopback, and its signed events. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Stripe from 'stripe'

export type StripeCall = { method: string; path: string; form: Record<string, string> }

export type StripeServer = {
  url: string
  calls: StripeCall[]
  /** Responds to every request with a 500 until it is set back. */
  down: boolean
  stop(): Promise<void>
}

export const stripeSecret = 'whsec_of_the_test_endpoint'

/** The environment of a service that uses this server. */
export const stripeEnv = (url: string): Record<string, string> => ({
  PAYMENT_PROVIDER: 'stripe',
  STRIPE_SECRET_KEY: 'sk_test_of_the_test',
  STRIPE_WEBHOOK_SECRET: stripeSecret,
  STRIPE_PRICE_PAYG: 'price_payg',
  STRIPE_PRICE_PRO: 'price_pro,price_pro_former',
  STRIPE_API_URL: url,
})

const answers: Record<string, (id: string) => unknown> = {
  'POST /v1/checkout/sessions': () => ({ id: 'cs_1', object: 'checkout.session', url: 'https://checkout.test/cs_1' }),
  'POST /v1/billing_portal/sessions': () => ({ id: 'bps_1', url: 'https://portal.test/bps_1' }),
  'POST /v1/customers': () => ({ id: 'cus_new', object: 'customer' }),
  'GET /v1/prices': (id) => ({
    id,
    object: 'price',
    recurring: { usage_type: id === 'price_payg' ? 'metered' : 'licensed' },
  }),
  'GET /v1/subscriptions': (id) => ({ id, object: 'subscription', items: { data: [{ id: 'si_1' }] } }),
  'DELETE /v1/subscriptions': (id) => ({ id, object: 'subscription', status: 'canceled' }),
  'GET /v1/payment_methods': (id) => ({ id, object: 'payment_method', card: { brand: 'mastercard', last4: '4444' } }),
}

export const startStripe = async (): Promise<StripeServer> => {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (stripe.down) return send(500, { error: { type: 'api_error', message: 'Server Error' } })
    const method = request.method ?? ''
    const path = request.url?.split('?')[0] ?? ''
    stripe.calls.push({ method, path, form: Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString())) })
    const [, base = '', id = ''] = /^(\/v1\/(?:prices|subscriptions|payment_methods))\/(\w+)$/.exec(path) ?? ['', path]
    const answer = answers[`${method} ${base}`]
    return answer ? send(200, answer(id)) : send(404, { error: { type: 'invalid_request_error', message: 'No such' } })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stripe: StripeServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    down: false,
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return stripe
}

export type StripeEventInput = {
  id: string
  orgId: string
  created: number
  type?: 'created' | 'updated' | 'deleted'
  status?: string
  price?: string
  subscription?: string
  more?: Record<string, unknown>
}

const month = 30 * 86_400

/** The body of an event about a subscription. */
export const stripeEvent = (input: StripeEventInput): string =>
  JSON.stringify({
    id: input.id,
    object: 'event',
    type: `customer.subscription.${input.type ?? 'updated'}`,
    created: input.created,
    data: {
      object: {
        id: input.subscription ?? `sub_${input.orgId}`,
        object: 'subscription',
        customer: `cus_${input.orgId}`,
        status: input.status ?? 'active',
        cancel_at_period_end: false,
        cancel_at: null,
        default_payment_method: 'pm_1',
        metadata: { org_id: input.orgId },
        items: {
          data: [{ id: 'si_1', current_period_end: input.created + month, price: { id: input.price ?? 'price_pro' } }],
        },
        ...input.more,
      },
    },
  })

export const signStripe = (payload: string, timestamp: number, secret = stripeSecret): string =>
  Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
