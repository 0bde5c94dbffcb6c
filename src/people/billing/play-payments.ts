/** Plays the payment provider, for development: what a person does on its pages becomes a signed callback. */
import type { Plan } from '../../customers/orgs/plans.ts'
import { findOrg } from '../../customers/orgs/store.ts'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { LocalPayments, PlayedEvent } from '../../providers/payments/local-payments.ts'
import type { PaidPlan } from '../../providers/payments/payment-provider.ts'
import { findPaying, type PayingRow } from './store/subscription-rows.ts'
import type { TakeCallback } from './take-callback.ts'

type Needs = StoreNeeds & { provider: LocalPayments; takeCallback: TakeCallback }

export const makePlayPayments = ({ db, clock, provider, takeCallback }: Needs) => {
  const call = async (event: PlayedEvent): Promise<void> => {
    const { body, signature } = await provider.sign(event)
    await takeCallback(body, signature)
  }

  const findSubscription = async (orgId: string): Promise<PayingRow | undefined> =>
    (await db.rows(findPaying, { orgId, provider: provider.name }))[0]

  /** Not before the last event, even if the clock was reset. */
  const timeAfter = ({ event_at }: PayingRow): Date => new Date(Math.max(clock.millis(), event_at.getTime()))

  const end = (orgId: string, paying: PayingRow): Promise<void> => {
    const { id: subscriptionId, plan } = paying
    return call({ type: 'customer.subscription.deleted', orgId, subscriptionId, plan, at: timeAfter(paying) })
  }

  const begin = (orgId: string, plan: PaidPlan): Promise<void> => {
    const subscriptionId = newId('request', clock.millis()).replace('req_', 'sub_local_')
    return call({ type: 'customer.subscription.created', orgId, subscriptionId, plan, at: clock.now() })
  }

  /** The subscription that pays for the present plan. An operator may have set that plan without one. */
  const subscriptionFor = async (orgId: string, present: Plan): Promise<PayingRow | undefined> => {
    const paying = await findSubscription(orgId)
    if (paying?.plan === present) return paying
    if (paying) await end(orgId, paying)
    if (present === 'free') return undefined
    await begin(orgId, present)
    return findSubscription(orgId)
  }

  return {
    /** The present plan of an org, and whether a subscription pays for it. Undefined if the org does not exist. */
    find: async (orgId: string) => {
      const org = await db.row(findOrg, { orgId })
      return org && { plan: org.plan, name: org.name, paid: (await findSubscription(orgId)) !== undefined }
    },
    /** Pays for a plan, or ends the payments with `free`. False if the org does not exist. */
    pay: async (orgId: string, plan: Plan) => {
      const org = await db.row(findOrg, { orgId })
      if (!org) return false
      const paying = await subscriptionFor(orgId, org.plan)
      if (plan === org.plan) return true
      if (plan === 'free') {
        if (paying) await end(orgId, paying)
      } else if (paying) {
        const type = 'customer.subscription.updated'
        await call({ type, orgId, subscriptionId: paying.id, plan, at: timeAfter(paying) })
      } else await begin(orgId, plan)
      return true
    },
    /** The subscription ends with its period. */
    cancel: async (orgId: string) => {
      const paying = await findSubscription(orgId)
      if (!paying) return
      const { id: subscriptionId, plan } = paying
      const type = 'customer.subscription.updated'
      await call({ type, orgId, subscriptionId, plan, at: timeAfter(paying), canceling: true })
    },
  }
}

export type PlayPayments = ReturnType<typeof makePlayPayments>
