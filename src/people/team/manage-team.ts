/** The members of an org: their roles and exemptions, their leaving and removal, and the owner among them. */
import type { Role } from '../../customers/accounts/sessions.ts'
import { endSessionsOfProvider } from '../../customers/accounts/store/enforcement-rows.ts'
import { setOwner } from '../../customers/orgs/store.ts'
import type { Actor, Audit, UserActor } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { asOwner } from './change-team.ts'
import { listInvitations } from './store/invitation-rows.ts'
import {
  countOwners,
  deleteMember,
  findMember,
  findRole,
  type LockedOrg,
  leaveDefaultOrg,
  listTeam,
  lockTeam,
  setExempt,
  setRole,
  type TeamMemberRow,
} from './store/team-rows.ts'

/** Ends what a member has in an org in another module, such as grants, in the transaction of the removal. */
export type EndMemberWork = (
  tx: Tx,
  actor: Actor,
  member: { orgId: string; userId: string; left?: true },
) => Promise<unknown>

/** `left`: the member did it themselves. */
type EndedMembership = { orgId: string; id: string; userId: string; via?: 'scim'; left?: true }

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

type MemberChange = { id: string; role?: Role | undefined; sso_exempt?: boolean | undefined }

type Needs = { db: Db; audit: Audit; endMembership: EndMembership }

export const makeManageTeam = ({ db, audit, endMembership }: Needs) => {
  const find = (tx: Tx, orgId: string, id: string): Promise<TeamMemberRow> =>
    orNotFound(tx.row(findMember, { orgId, id }))

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
      asOwner(db, orgId, actor, async (tx, org) => {
        const member = await find(tx, orgId, id)
        if (role !== undefined) await changeRole(tx, actor, org, member, role)
        if (exempted !== undefined) await exempt(tx, actor, orgId, member, exempted)
        return find(tx, orgId, id)
      }),

    remove: (orgId: string, actor: UserActor, id: string) =>
      asOwner(db, orgId, actor, async (tx, org) => {
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

type NewOwner = { orgId: string; member: { id: string; userId: string } }
type TransferReason = 'account_deleted' | 'transfer'

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
