/** Moves the owner pointer of an org to another member. */

import { setOwner } from '../../customers/orgs/store.ts'
import type { Actor, Audit, UserActor } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { asOwner } from './change-team.ts'
import { findRole, setRole } from './store/team-rows.ts'

type NewOwner = { orgId: string; member: { id: string; userId: string } }
export type TransferReason = 'account_deleted' | 'transfer'

/** Moves the pointer in the transaction of the caller, who holds the lock of the org. Returns whether it promoted. */
export type MovePointer = (tx: Tx, actor: Actor, to: NewOwner, reason: TransferReason) => Promise<boolean>

export const makeMovePointer =
  ({ clock, audit }: { clock: Clock; audit: Audit }): MovePointer =>
  async (tx, actor, { orgId, member }, reason) => {
    const promoted = (await tx.row(setRole, { orgId, id: member.id, role: 'owner' })) !== undefined
    await tx.change(setOwner, { orgId, userId: member.userId, at: clock.now() })
    const entry = { orgId, actor, action: 'org.ownership_transferred', resourceType: 'user' } as const
    await audit(tx, { ...entry, resourceId: member.userId, metadata: { promoted_to_owner: promoted, reason } })
    return promoted
  }

/** Only the primary owner can transfer. They keep the owner role. */
export type TransferOwnership = (orgId: string, actor: UserActor, userId: string) => Promise<void>

export const makeTransferOwnership =
  ({ db, movePointer }: { db: Db; movePointer: MovePointer }): TransferOwnership =>
  (orgId, actor, userId) =>
    asOwner(db, orgId, actor, async (tx, org) => {
      if (org.owner_user_id !== actor.userId) throw new Failure('NOT_PRIMARY_OWNER')
      const target = await orNotFound(tx.row(findRole, { orgId, userId }))
      if (userId === actor.userId) return
      await movePointer(tx, actor, { orgId, member: { id: target.id, userId } }, 'transfer')
    })
