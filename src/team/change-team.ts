/** Serializes the changes of an org's members, and checks again that the caller is an owner. */
import type { UserActor } from '../audit/append.ts'
import type { Tx } from '../db/pool.ts'
import { Failure } from '../ground/errors.ts'
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
