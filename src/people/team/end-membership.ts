/** Ends a membership. Owners, the directory and members who leave all do it through this function. */
import { endSessionsOfProvider } from '../../customers/accounts/store/enforcement-rows.ts'
import type { Actor, Audit, UserActor } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { countOwners, deleteMember, findRole, leaveDefaultOrg, lockTeam } from './store/team-rows.ts'

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

export const makeEndMembership =
  ({ clock, audit, endWork }: { clock: Clock; audit: Audit; endWork: EndMemberWork[] }): EndMembership =>
  async (tx, actor, { orgId, id, userId, via, left }) => {
    for (const end of endWork) await end(tx, actor, { orgId, userId, ...(left && { left }) })
    const removed = await tx.row(deleteMember, { orgId, id })
    if (!removed) return false
    // The identity provider of the org no longer speaks for this person.
    await tx.change(endSessionsOfProvider, { orgId, userId: removed.user_id })
    await tx.change(leaveDefaultOrg, { orgId, userId: removed.user_id, at: clock.now() })
    const action = left ? 'member.left' : 'member.removed'
    const metadata = { role: removed.role, user_id: removed.user_id, ...(via && { via }) }
    await audit(tx, { orgId, actor, action, resourceType: 'membership', resourceId: id, metadata })
    return true
  }

/** A member leaves by themselves. The primary owner and the last owner stay: somebody must be responsible for the org. */
export type LeaveTeam = (orgId: string, actor: UserActor) => Promise<void>

const primaryStays = 'You are the primary owner. Transfer the ownership before you leave.'
const lastStays = 'You are the last owner. Make another member an owner before you leave.'

export const makeLeaveTeam =
  ({ db, endMembership }: { db: Db; endMembership: EndMembership }): LeaveTeam =>
  (orgId, actor) =>
    db.tx(async (tx) => {
      const { userId } = actor
      const org = await tx.row(lockTeam, { orgId })
      const own = org && (await tx.row(findRole, { orgId, userId }))
      if (!own) throw new Failure('NOT_FOUND')
      if (org.owner_user_id === userId) throw new Failure('SOLE_OWNER', { flatMessage: primaryStays })
      if (own.role === 'owner' && (await tx.row(countOwners, { orgId }))?.n === 1) {
        throw new Failure('SOLE_OWNER', { flatMessage: lastStays })
      }
      await endMembership(tx, actor, { orgId, id: own.id, userId, left: true })
    })
