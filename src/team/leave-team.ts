/** A member leaves an org by themselves. */
import type { UserActor } from '../audit/append.ts'
import type { Db } from '../db/pool.ts'
import { Failure } from '../ground/errors.ts'
import type { EndMembership } from './end-membership.ts'
import { countOwners, findRole, lockTeam } from './store/team-rows.ts'

/** The primary owner and the last owner stay: somebody must be responsible for the org. */
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
