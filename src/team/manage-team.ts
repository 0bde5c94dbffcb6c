import type { Role } from '../accounts/sessions.ts'
import type { Audit, UserActor } from '../audit/append.ts'
import type { Db, Tx } from '../db/pool.ts'
import { Failure } from '../ground/errors.ts'
import { lockAsOwner } from './change-team.ts'
import type { EndMembership } from './end-membership.ts'
import { countOwners, findMember, type LockedOrg, setRole, type TeamMemberRow } from './store/team-rows.ts'

export interface ManageTeam {
  changeRole(orgId: string, actor: UserActor, change: { id: string; role: Role }): Promise<TeamMemberRow>
  remove(orgId: string, actor: UserActor, id: string): Promise<void>
}

type Needs = { db: Db; audit: Audit; endMembership: EndMembership }

export const makeManageTeam = ({ db, audit, endMembership }: Needs): ManageTeam => {
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
        if (!(await endMembership(tx, actor, { orgId, id, userId: member.user_id }))) throw new Failure('NOT_FOUND')
      }),
  }
}
