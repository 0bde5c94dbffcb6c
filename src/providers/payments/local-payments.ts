/** Payments on this machine, for development: pages of this service take the place of Stripe's, and nobody pays. */
import { hkdfSync } from 'node:crypto'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Vault } from '../../platform/ground/crypto.ts'
import { newId } from '../../platform/ground/ids.ts'
import { dayMs } from '../../platform/ground/units.ts'
import { type PaidPlan, type PaymentProvider, paidPlans } from './payment-provider.ts'
import { makeReadCallback } from './stripe-events.ts'

/** What the link of a page contains. `plan` is null for the portal. */
export type LocalPage = { orgId: string; plan: PaidPlan | null }

export type PlayedEvent = {
  type: 'customer.subscription.created' | 'customer.subscription.updated' | 'customer.subscription.deleted'
  orgId: string
  subscriptionId: string
  plan: PaidPlan
  at: Date
  /** The subscription ends with its period. */
  canceling?: boolean
}

export interface LocalPayments extends PaymentProvider {
  /** Undefined for a link that was not made here or is too old. */
  readPage(token: string): LocalPage | undefined
  /** A callback as Stripe sends it. */
  sign(event: PlayedEvent): Promise<{ body: Buffer; signature: string }>
}

const periodMs = 30 * dayMs
const context = 'local payments page'
const pricePrefix = 'price_local_'
const seconds = (at: Date): number => Math.floor(at.getTime() / 1_000)

const planOf = (price: string): PaidPlan | undefined => paidPlans.find((plan) => price === pricePrefix + plan)

const subscriptionBody = ({ type, orgId, subscriptionId, plan, at, canceling = false }: PlayedEvent) => ({
  id: subscriptionId,
  object: 'subscription',
  customer: `cus_local_${orgId}`,
  status: type === 'customer.subscription.deleted' ? 'canceled' : 'active',
  cancel_at_period_end: canceling,
  cancel_at: null,
  default_payment_method: 'pm_local_visa',
  metadata: { org_id: orgId },
  items: {
    object: 'list',
    data: [
      {
        id: `si_${subscriptionId}`,
        object: 'subscription_item',
        current_period_end: seconds(new Date(at.getTime() + periodMs)),
        price: { id: pricePrefix + plan, object: 'price' },
      },
    ],
  },
})

type Needs = { clock: Clock; vault: Vault; masterKey: Buffer; baseUrl: () => string }

export const makeLocalPayments = ({ clock, vault, masterKey, baseUrl }: Needs): LocalPayments => {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', 'local payments callback', 32))
  const secret = `whsec_${key.toString('base64url')}`

  const pageUrl = (name: string, page: LocalPage): string => {
    const token = vault.seal(JSON.stringify({ ...page, until: clock.millis() + dayMs }), context)
    return `${baseUrl()}/billing/${name}/${token}`
  }

  return {
    name: 'local',
    startCheckout: async ({ orgId, plan }) => pageUrl('checkout', { orgId, plan }),
    openPortal: async ({ orgId }) => ({
      url: pageUrl('portal', { orgId, plan: null }),
      customerId: `cus_local_${orgId}`,
    }),
    readCallback: makeReadCallback({ secret, clock, planOf }),
    findCard: async () => ({ brand: 'visa', last4: '4242' }),
    cancel: async () => undefined,
    readPage: (token) => {
      try {
        const { until, orgId, plan } = JSON.parse(vault.open(token, context)) as LocalPage & { until: number }
        return until > clock.millis() ? { orgId, plan } : undefined
      } catch {
        return undefined
      }
    },
    sign: async (event) => {
      const { default: stripe } = await import('stripe')
      const payload = JSON.stringify({
        id: newId('event', clock.millis()),
        object: 'event',
        type: event.type,
        created: seconds(event.at),
        data: { object: subscriptionBody(event) },
      })
      const timestamp = seconds(clock.now())
      const signature = stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
      return { body: Buffer.from(payload), signature }
    },
  }
}
