/** Changes the plan of an org: the operator's command and the payment provider's callback both do it here. */
import type { Audit } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { isHigherPlan, type Plan } from './plans.ts'
import { lockOrg, type OrgRow, setPlan } from './store.ts'

/** Limits that an operator agreed with the org. Null keeps the current one. */
type Contract = { rate: number | null; email: number | null; sms: number | null }

type PlanChange = { orgId: string; plan: Plan; contract?: Contract }

/**
 * Returns the org after the change, undefined if it does not exist. A trigger makes every process forget its copies of
 * the org. The audit entry has no actor.
 */
export type ChangePlan = (tx: Tx, change: PlanChange) => Promise<OrgRow | undefined>

type Needs = {
  clock: Clock
  audit: Audit
  /** Drops the copies of this process at once. */
  forget?: (orgId: string) => void
}

const noContract: Contract = { rate: null, email: null, sms: null }

export const makeChangePlan =
  ({ clock, audit, forget }: Needs): ChangePlan =>
  async (tx, { orgId, plan, contract = noContract }) => {
    const former = await tx.row(lockOrg, { orgId })
    const org = former && (await tx.row(setPlan, { orgId, plan, ...contract, at: clock.now() }))
    if (!former || !org) return undefined
    if (former.plan !== plan) {
      const action = isHigherPlan(plan, former.plan) ? 'plan.upgraded' : 'plan.downgraded'
      const entry = { orgId, actor: { kind: 'system' }, resourceType: 'org', resourceId: orgId } as const
      await audit(tx, { ...entry, action, metadata: { from: former.plan, to: plan } })
    }
    tx.afterCommit(() => forget?.(orgId))
    return org
  }
