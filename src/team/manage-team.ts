import type { Role } from '../accounts/sessions.ts'
import type { Audit, UserActor } from '../audit/append.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import type { EndGrants } from '../oauth/end-grants.ts'
import { lockAsOwner } from './change-team.ts'
import {
  countOwners,
  deleteMember,
  findMember,
  type LockedOrg,
  leaveDefaultOrg,
  setRole,
  type TeamMemberRow,
} from './store/team-rows.ts'

export interface ManageTeam {
  changeRole(orgId: string, actor: UserActor, change: { id: string; role: Role }): Promise<TeamMemberRow>
  remove(orgId: string, actor: UserActor, id: string): Promise<void>
}

type Needs = { db: Db; clock: Clock; audit: Audit; endGrants: EndGrants['ofMember'] }

export const makeManageTeam = ({ db, clock, audit, endGrants }: Needs): ManageTeam => {
  const find = async (tx: Tx, orgId: string, id: string): Promise<TeamMemberRow> => {
    const member = await tx.row(findMember, { orgId, id })
    if (!member) throw new Failure('NOT_FOUND')
    return member
  }

  /** The owner pointer's user always stays an owner. Without a pointer, the last owner does. */
  const assertDispensable = async (
    tx: Tx,
    org: LockedOrg,
    member: TeamMemberRow,
    flatMessage: string,
  ): Promise<void> => {
    const last = async () => (await tx.row(countOwners, { orgId: org.id }))?.n === 1
    const needed = member.primary_owner || (org.owner_user_id === null && member.role === 'owner' && (await last()))
    if (needed) throw new Failure('PRIMARY_OWNER', { flatMessage })
  }

  return {
    changeRole: (orgId, actor, { id, role }) =>
      db.tx(async (tx) => {
        const org = await lockAsOwner(tx, orgId, actor)
        const member = await find(tx, orgId, id)
        if (role !== 'owner') await assertDispensable(tx, org, member, 'The primary owner cannot be demoted')
        const changed = await tx.row(setRole, { orgId, id, role })
        if (!changed) return member
        await audit(tx, {
          orgId,
          actor,
          action: 'member.role_changed',
          resourceType: 'membership',
          resourceId: id,
          metadata: { from: changed.former, to: role, user_id: member.user_id },
        })
        return { ...member, role }
      }),

    remove: (orgId, actor, id) =>
      db.tx(async (tx) => {
        const org = await lockAsOwner(tx, orgId, actor)
        const member = await find(tx, orgId, id)
        await assertDispensable(tx, org, member, 'The primary owner cannot be removed')
        if (member.user_id === actor.userId) throw new Failure('SELF_REMOVE')
        await endGrants(tx, actor, { orgId, userId: member.user_id })
        const removed = await tx.row(deleteMember, { orgId, id })
        if (!removed) throw new Failure('NOT_FOUND')
        await tx.change(leaveDefaultOrg, { orgId, userId: removed.user_id, at: clock.now() })
        await audit(tx, {
          orgId,
          actor,
          action: 'member.removed',
          resourceType: 'membership',
          resourceId: id,
          metadata: { role: removed.role, user_id: removed.user_id },
        })
      }),
  }
}
