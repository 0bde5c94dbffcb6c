/** Ends a membership. Owners and the directory both remove members through this function. */
import type { Actor, Audit } from '../audit/append.ts'
import type { Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { deleteMember, leaveDefaultOrg } from './store/team-rows.ts'

/** Ends what a member has in an org in another module, such as grants, in the transaction of the removal. */
export type EndMemberWork = (tx: Tx, actor: Actor, member: { orgId: string; userId: string }) => Promise<unknown>

export type EndedMembership = { orgId: string; id: string; userId: string; via?: 'scim' }

/** In the transaction of the caller, who holds the lock of the org. Returns false if there is no such membership. */
export type EndMembership = (tx: Tx, actor: Actor, member: EndedMembership) => Promise<boolean>

type Needs = { clock: Clock; audit: Audit; endWork: EndMemberWork[] }

export const makeEndMembership =
  ({ clock, audit, endWork }: Needs): EndMembership =>
  async (tx, actor, { orgId, id, userId, via }) => {
    for (const end of endWork) await end(tx, actor, { orgId, userId })
    const removed = await tx.row(deleteMember, { orgId, id })
    if (!removed) return false
    await tx.change(leaveDefaultOrg, { orgId, userId: removed.user_id, at: clock.now() })
    await audit(tx, {
      orgId,
      actor,
      action: 'member.removed',
      resourceType: 'membership',
      resourceId: id,
      metadata: { role: removed.role, user_id: removed.user_id, ...(via && { via }) },
    })
    return true
  }
