import type { Role } from '../../customers/accounts/sessions.ts'
import type { Audit, UserActor } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { lockAsOwner } from './change-team.ts'
import type { EndMembership } from './end-membership.ts'
import { listInvitations } from './store/invitation-rows.ts'
import {
  countOwners,
  findMember,
  type LockedOrg,
  listTeam,
  setExempt,
  setRole,
  type TeamMemberRow,
} from './store/team-rows.ts'

export type MemberChange = { id: string; role?: Role | undefined; sso_exempt?: boolean | undefined }

type Needs = { db: Db; audit: Audit; endMembership: EndMembership }

export const makeManageTeam = ({ db, audit, endMembership }: Needs) => {
  const find = async (tx: Tx, orgId: string, id: string): Promise<TeamMemberRow> => {
    const member = await tx.row(findMember, { orgId, id })
    if (!member) throw new Failure('NOT_FOUND')
    return member
  }

  /** The owner pointer's user always stays an owner. Without a pointer, the last owner does. */
  const assertDispensable = async (tx: Tx, org: LockedOrg, member: TeamMemberRow, flatMessage: string) => {
    const last = async () => (await tx.row(countOwners, { orgId: org.id }))?.n === 1
    const needed = member.primary_owner || (org.owner_user_id === null && member.role === 'owner' && (await last()))
    if (needed) throw new Failure('PRIMARY_OWNER', { flatMessage })
  }

  const changeRole = async (tx: Tx, actor: UserActor, org: LockedOrg, member: TeamMemberRow, role: Role) => {
    const { id, user_id } = member
    if (role !== 'owner') await assertDispensable(tx, org, member, 'The primary owner cannot be demoted')
    const changed = await tx.row(setRole, { orgId: org.id, id, role })
    if (!changed) return
    const entry = { orgId: org.id, actor, action: 'member.role_changed', resourceType: 'membership' } as const
    await audit(tx, { ...entry, resourceId: id, metadata: { from: changed.former, to: role, user_id } })
  }

  const exempt = async (tx: Tx, actor: UserActor, orgId: string, { id, user_id }: TeamMemberRow, on: boolean) => {
    if (!(await tx.row(setExempt, { orgId, id, exempt: on }))) return
    const entry = { orgId, actor, action: 'member.sso_exemption_changed', resourceType: 'membership' } as const
    await audit(tx, { ...entry, resourceId: id, metadata: { exempt: on, user_id } })
  }

  return {
    /** Changes the role, or whether the member needs the identity provider of the org. */
    change: (orgId: string, actor: UserActor, { id, role, sso_exempt: exempted }: MemberChange) =>
      db.tx(async (tx) => {
        const org = await lockAsOwner(tx, orgId, actor)
        const member = await find(tx, orgId, id)
        if (role !== undefined) await changeRole(tx, actor, org, member, role)
        if (exempted !== undefined) await exempt(tx, actor, orgId, member, exempted)
        return find(tx, orgId, id)
      }),

    remove: (orgId: string, actor: UserActor, id: string) =>
      db.tx(async (tx) => {
        const org = await lockAsOwner(tx, orgId, actor)
        const member = await find(tx, orgId, id)
        await assertDispensable(tx, org, member, 'The primary owner cannot be removed')
        if (member.user_id === actor.userId) throw new Failure('SELF_REMOVE')
        if (!(await endMembership(tx, actor, { orgId, id, userId: member.user_id }))) throw new Failure('NOT_FOUND')
      }),
  }
}

export type ManageTeam = ReturnType<typeof makeManageTeam>

export const makeListTeam = ({ db }: { db: Db }) => ({
  members: (orgId: string, page: PageAsked) => db.rows(listTeam, { orgId, ...keysetOf(page) }),
  invitations: (orgId: string, page: PageAsked) => db.rows(listInvitations, { orgId, ...keysetOf(page) }),
})

export type ListTeam = ReturnType<typeof makeListTeam>
