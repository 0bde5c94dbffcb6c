/** What happens to the orgs of a user whose account is deleted. */
import type { Actor } from '../audit/append.ts'
import type { Tx } from '../db/pool.ts'
import { Failure } from '../ground/errors.ts'
import type { CloseOrg } from './delete-org.ts'
import { lockOwnOrgs } from './store/own-org-rows.ts'
import { findHeir, type LockedOrg } from './store/team-rows.ts'
import type { MovePointer } from './transfer-ownership.ts'

export type LeftOrgs = {
  transferred: { org_id: string; to_user_id: string; promoted_to_owner: boolean }[]
  deleted_orgs: string[]
}

/**
 * Every org whose owner pointer names the user goes to its heir. An org without another member has no heir: it is
 * deleted if the user agreed to that, or else nothing at all changes.
 */
export type LeaveOrgs = (tx: Tx, actor: Actor, leaving: { userId: string; deleteOwned: boolean }) => Promise<LeftOrgs>

type Needs = { movePointer: MovePointer; close: CloseOrg }

export const makeLeaveOrgs =
  ({ movePointer, close }: Needs): LeaveOrgs =>
  async (tx, actor, { userId, deleteOwned }) => {
    const owned = (await tx.rows(lockOwnOrgs, { userId })).filter((org) => org.owner_user_id === userId)
    const inherited: { org: LockedOrg; heir: { id: string; user_id: string } }[] = []
    const sole: LockedOrg[] = []
    for (const org of owned) {
      const heir = await tx.row(findHeir, { orgId: org.id, userId })
      if (heir) inherited.push({ org, heir })
      else sole.push(org)
    }
    if (sole.length > 0 && !deleteOwned) {
      throw new Failure('SOLE_OWNER', { extra: { orgs: sole.map(({ id, name }) => ({ id, name })) } })
    }
    const left: LeftOrgs = { transferred: [], deleted_orgs: [] }
    for (const { org, heir } of inherited) {
      const member = { id: heir.id, userId: heir.user_id }
      const promoted = await movePointer(tx, actor, { orgId: org.id, member }, 'account_deleted')
      left.transferred.push({ org_id: org.id, to_user_id: heir.user_id, promoted_to_owner: promoted })
    }
    for (const org of sole) {
      await close(tx, actor, userId, org)
      left.deleted_orgs.push(org.id)
    }
    return left
  }
