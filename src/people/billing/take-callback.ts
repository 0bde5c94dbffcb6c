/** Processes the signed callbacks of the payment provider, and gives an org the plan that its subscriptions pay for. */
import type { ChangePlan } from '../../customers/orgs/change-plan.ts'
import { isHigherPlan, type Plan } from '../../customers/orgs/plans.ts'
import { findOrg, lockOrg } from '../../customers/orgs/store.ts'
import type { StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { isId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Card, PaidPlan, PaymentEvent, PaymentProvider } from '../../providers/payments/payment-provider.ts'
import { keepCustomer, setCard } from './store/customer-rows.ts'
import { applyEvent, findPaying } from './store/subscription-rows.ts'

type PaymentChange = {
  /** The plan of the org. */
  present: Plan
  /** What the changed subscription paid for before, and pays for now. */
  before: PaidPlan | null
  after: PaidPlan | null
  /** What all subscriptions of the org pay for now. */
  paid: PaidPlan[]
}

/**
 * The plan that the org moves to. Undefined: it stays. A plan that an operator set by contract is not taken away by a
 * subscription that did not pay for it, and a renewal changes nothing.
 */
export const planAfter = ({ present, before, after, paid }: PaymentChange): Plan | undefined => {
  if (before === after) return undefined
  const next = paid.reduce<Plan>((highest, plan) => (isHigherPlan(plan, highest) ? plan : highest), 'free')
  if (next === present) return undefined
  return isHigherPlan(next, present) || present === before ? next : undefined
}

export const makeSettlePlan =
  ({ changePlan }: { changePlan: ChangePlan }) =>
  async (tx: Tx, { orgId, provider, ...change }: Omit<PaymentChange, 'paid'> & { orgId: string; provider: string }) => {
    const paid = (await tx.rows(findPaying, { orgId, provider })).map(({ plan }) => plan)
    const plan = planAfter({ ...change, paid })
    if (plan) await changePlan(tx, { orgId, plan })
  }

export type SettlePlan = ReturnType<typeof makeSettlePlan>

/** `stale`: a newer event of the same subscription came first. `ignored`: the event does not concern a plan. */
type CallbackOutcome = 'applied' | 'repeated' | 'stale' | 'ignored'

/** Throws SignatureFault, and PaymentFault for an event that cannot be read yet. */
export type TakeCallback = (body: Buffer, signature: string | undefined) => Promise<CallbackOutcome>

type SubscriptionEvent = Extract<PaymentEvent, { kind: 'subscription' }>

type Needs = StoreNeeds & { log: Log; provider: PaymentProvider; settlePlan: SettlePlan }

/** Stores the event, the state of the subscription, the plan and the audit entry in one transaction. */
const makeApply =
  ({ db, clock, log, provider: { name: provider }, settlePlan }: Needs) =>
  async ({ id: eventId, type, at: eventAt, rank, subscription }: SubscriptionEvent): Promise<CallbackOutcome> => {
    const { orgId, plan, status, endsAt, customerId } = subscription
    const org = orgId !== null && isId('org', orgId) ? await db.row(findOrg, { orgId }) : undefined
    if (!org) {
      log.warn({ event: eventId, type, org_id: orgId }, 'payment event of an unknown org')
      return 'ignored'
    }
    return db.tx(async (tx) => {
      const at = clock.now()
      const locked = await tx.row(lockOrg, { orgId: org.id })
      if (!locked) return 'ignored'
      const ended = status === 'canceled' || (endsAt !== null && endsAt <= at)
      const done = await tx.row(applyEvent, {
        ...subscription,
        orgId: org.id,
        provider,
        eventId,
        type,
        eventAt,
        rank,
        endedAt: ended ? at : null,
        at,
      })
      if (!done?.fresh) return 'repeated'
      if (!done.applied) return 'stale'
      await tx.change(keepCustomer, { orgId: org.id, provider, customerId, at })
      const after = ended || status === 'pending' ? null : plan
      await settlePlan(tx, { orgId: org.id, provider, present: locked.plan, before: done.paid, after })
      return 'applied'
    })
  }

export const makeTakeCallback = (needs: Needs): TakeCallback => {
  const { db, clock, log, provider } = needs
  const apply = makeApply(needs)

  /** The card is only shown, so the plan does not wait for it. */
  const keepCard = async (customerId: string, paymentMethodId: string | null, eventAt: Date): Promise<void> => {
    let card: Card | undefined
    try {
      card = paymentMethodId === null ? undefined : await provider.findCard(paymentMethodId)
    } catch (error) {
      log.warn({ err: error }, 'payment card not read')
      return
    }
    const { brand = null, last4 = null } = card ?? {}
    await db.change(setCard, { provider: provider.name, customerId, brand, last4, eventAt, at: clock.now() })
  }

  return async (body, signature) => {
    const event = await provider.readCallback(body, signature)
    if (event.kind === 'other') return 'ignored'
    if (event.kind === 'card') {
      await keepCard(event.customerId, event.paymentMethodId, event.at)
      return 'applied'
    }
    const outcome = await apply(event)
    const { customerId, paymentMethodId } = event.subscription
    if (outcome === 'applied' && paymentMethodId !== null) await keepCard(customerId, paymentMethodId, event.at)
    return outcome
  }
}
