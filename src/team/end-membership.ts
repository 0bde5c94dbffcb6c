/** Ends a membership. Owners, the directory and members who leave all do it through this function. */
import { endSessionsOfProvider } from '../accounts/store/enforcement-rows.ts'
import type { Actor, Audit } from '../audit/append.ts'
import type { Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { deleteMember, leaveDefaultOrg } from './store/team-rows.ts'

/** Ends what a member has in an org in another module, such as grants, in the transaction of the removal. */
export type EndMemberWork = (
  tx: Tx,
  actor: Actor,
  member: { orgId: string; userId: string; left?: true },
) => Promise<unknown>

/** `left`: the member did it themselves. */
export type EndedMembership = { orgId: string; id: string; userId: string; via?: 'scim'; left?: true }

/** In the transaction of the caller, who holds the lock of the org. Returns false if there is no such membership. */
export type EndMembership = (tx: Tx, actor: Actor, member: EndedMembership) => Promise<boolean>

type Needs = { clock: Clock; audit: Audit; endWork: EndMemberWork[] }

export const makeEndMembership =
  ({ clock, audit, endWork }: Needs): EndMembership =>
  async (tx, actor, { orgId, id, userId, via, left }) => {
    for (const end of endWork) await end(tx, actor, { orgId, userId, ...(left && { left }) })
    const removed = await tx.row(deleteMember, { orgId, id })
    if (!removed) return false
    // The identity provider of the org no longer speaks for this person.
    await tx.change(endSessionsOfProvider, { orgId, userId: removed.user_id })
    await tx.change(leaveDefaultOrg, { orgId, userId: removed.user_id, at: clock.now() })
    await audit(tx, {
      orgId,
      actor,
      action: left ? 'member.left' : 'member.removed',
      resourceType: 'membership',
      resourceId: id,
      metadata: { role: removed.role, user_id: removed.user_id, ...(via && { via }) },
    })
    return true
  }
