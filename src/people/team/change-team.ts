/** What changes of a team have in common: the lock of the org with a second look at the caller's role, and limits. */
import type { UserActor } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Bucket, Limiter } from '../../platform/limits/limiter.ts'
import { findRole, type LockedOrg, lockTeam } from './store/team-rows.ts'

/**
 * Locks the org. The caller passed the gate of the route before the lock, and another owner may have demoted them since
 * then, so the role is read again.
 */
export const lockAsOwner = async (tx: Tx, orgId: string, actor: UserActor): Promise<LockedOrg> => {
  const org = await tx.row(lockTeam, { orgId })
  const own = org && (await tx.row(findRole, { orgId, userId: actor.userId }))
  if (own?.role !== 'owner') throw new Failure('OWNER_ROLE_REQUIRED')
  return org as LockedOrg
}

/** A change of the org by one of its owners, in a transaction that holds the lock of the org. */
export const asOwner = <T>(
  db: Db,
  orgId: string,
  actor: UserActor,
  change: (tx: Tx, org: LockedOrg) => Promise<T>,
): Promise<T> => db.tx(async (tx) => change(tx, await lockAsOwner(tx, orgId, actor)))

type SpendNeeds = { limiter: Limiter | undefined; clock: Clock }

/** Counts one more in the bucket, or throws RATE_LIMITED with this message. */
export const spend = async ({ limiter, clock }: SpendNeeds, bucket: Bucket, flatMessage: string): Promise<void> => {
  const taken = await limiter?.take([bucket], clock.millis())
  if (!taken || taken.allowed) return
  const retryAfter = Math.ceil(((taken.states[0]?.resetAt ?? 0) - clock.millis()) / 1_000)
  throw new Failure('RATE_LIMITED', { retryAfter, flatMessage })
}
