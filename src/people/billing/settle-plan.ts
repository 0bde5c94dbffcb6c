/** Gives an org the plan that its subscriptions pay for, after one of them has changed. */

import type { ChangePlan } from '../../customers/orgs/change-plan.ts'
import { isHigherPlan, type Plan } from '../../customers/orgs/plans.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { PaidPlan } from '../../providers/payments/payment-provider.ts'
import { findPaying } from './store/subscription-rows.ts'

export type PaymentChange = {
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

export type SettlePlan = (
  tx: Tx,
  change: Omit<PaymentChange, 'paid'> & { orgId: string; provider: string },
) => Promise<void>

export const makeSettlePlan =
  ({ changePlan }: { changePlan: ChangePlan }): SettlePlan =>
  async (tx, { orgId, provider, ...change }) => {
    const paid = (await tx.rows(findPaying, { orgId, provider })).map(({ plan }) => plan)
    const plan = planAfter({ ...change, paid })
    if (plan) await changePlan(tx, { orgId, plan })
  }
