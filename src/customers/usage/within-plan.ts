/** The plan's limit on how many resources of a kind an org has. */
import type { Tx } from '../../platform/db/pool.ts'
import type { Statement } from '../../platform/db/statement.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Plan } from '../orgs/plans.ts'
import { lockOrg } from '../orgs/store.ts'
import { type Resource, resourceLimit } from './plan-limits.ts'

const shownResource = (resource: Resource, limit: number): string => {
  if (resource === 'phone numbers') return 'phone numbers and sender ids'
  return limit === 1 ? resource.replace(/s$/, '') : resource
}

/** `has` is how many there are before another one is added. */
export const assertWithinPlan = (plan: Plan, resource: Resource, has: number): void => {
  const limit = resourceLimit[resource][plan]
  if (has < limit) return
  const message = `The ${plan} plan allows ${limit} ${shownResource(resource, limit)}.`
  throw new Failure('PLAN_RESOURCE_LIMIT', { message })
}

/** The org stays locked until the transaction ends, so that concurrent requests cannot exceed the limit together. */
export const lockWithinPlan = async (
  tx: Tx,
  orgId: string,
  resource: Resource,
  count: Statement<{ orgId: string }, { n: number }>,
): Promise<void> => {
  const org = await tx.row(lockOrg, { orgId })
  const counted = await tx.row(count, { orgId })
  if (!org || !counted) throw new Failure('NOT_FOUND')
  assertWithinPlan(org.plan, resource, counted.n)
}
