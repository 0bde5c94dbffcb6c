/** Deletes a user's account, with all that belongs to the user alone. */
import { forgetKeyCreator } from '../../customers/keys/store.ts'
import type { Actor, Audit, UserActor } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { ProvePassword } from '../signin/prove-password.ts'
import { type AccountRow, findAccount } from '../signin/store/user-rows.ts'
import type { Throttle } from '../signin/throttle.ts'
import type { CloseOrg } from './delete-org.ts'
import type { MovePointer } from './manage-team.ts'
import { deleteInvitationsTo } from './store/invitation-rows.ts'
import { lockOwnOrgs, nextOwnOrg } from './store/own-org-rows.ts'
import { deleteUser, findHeir, findRole, type LockedOrg } from './store/team-rows.ts'

type LeftOrgs = {
  transferred: { org_id: string; to_user_id: string; promoted_to_owner: boolean }[]
  deleted_orgs: string[]
}

/**
 * Every org whose owner pointer names the user goes to its heir. An org without another member has no heir: it is
 * deleted if the user agreed to that, or else nothing at all changes.
 */
type LeaveOrgs = (tx: Tx, actor: Actor, leaving: { userId: string; deleteOwned: boolean }) => Promise<LeftOrgs>

export const makeLeaveOrgs =
  ({ movePointer, close }: { movePointer: MovePointer; close: CloseOrg }): LeaveOrgs =>
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

export type Confirmation = { password?: string | undefined; email?: string | undefined }

export type DeleteAccount = (
  actor: UserActor,
  confirmation: Confirmation,
  options: { activeOrgId: string | null; deleteOwned: boolean },
) => Promise<LeftOrgs>

/** Ends what a person has in another module, such as grants, in the transaction of the deletion. */
type EndAccountWork = (tx: Tx, actor: UserActor) => Promise<unknown>

type Needs = {
  db: Db
  throttle: Throttle
  provePassword: Pick<ProvePassword, 'inSession'>
  log: Log
  audit: Audit
  leave: LeaveOrgs
  endWork: EndAccountWork[]
  eraseActor: (tx: Tx, userId: string) => Promise<number>
}

export const makeDeleteAccount = (needs: Needs): DeleteAccount => {
  const { db, throttle, provePassword, log, audit, leave, endWork, eraseActor } = needs

  const isAddress = async (account: AccountRow, given: string, ip: string | null): Promise<boolean> => {
    return throttle.attempt({ email: account.email, ip }, async (failed) => {
      if (given.trim().toLowerCase() === account.email) return true
      await failed()
      return false
    })
  }

  /** Counts with failed sign-ins: a stolen session must not be enough to guess the password. */
  const confirm = async (actor: UserActor, { password, email }: Confirmation): Promise<void> => {
    const account = await db.row(findAccount, { userId: actor.userId })
    if (!account) throw new Failure('UNAUTHORIZED')
    if (email !== undefined && (await isAddress(account, email, actor.ip))) return
    if (password !== undefined && (await provePassword.inSession(account, password, actor))) return
    throw new Failure('CONFIRMATION_FAILED', { flatMessage: 'Confirmation does not match' })
  }

  /** Files the entry under the active org if the user still belongs to it, or else under another org of theirs. */
  const record = async (tx: Tx, actor: Actor, userId: string, activeOrgId: string | null): Promise<void> => {
    const stays = activeOrgId !== null && (await tx.row(findRole, { orgId: activeOrgId, userId }))
    const orgId = stays ? activeOrgId : (await tx.row(nextOwnOrg, { userId }))?.org_id
    if (orgId === undefined) {
      log.info({ action: 'user.account_deleted', user_id: userId }, 'account deleted without an org')
      return
    }
    await audit(tx, { orgId, actor, action: 'user.account_deleted', resourceType: 'user', resourceId: userId })
  }

  return async (actor, confirmation, { activeOrgId, deleteOwned }) => {
    const { userId } = actor
    await confirm(actor, confirmation)
    return db.tx(async (tx) => {
      const left = await leave(tx, actor, { userId, deleteOwned })
      for (const end of endWork) await end(tx, actor)
      await record(tx, actor, userId, activeOrgId)
      // After the last entry of this deletion, so that none of them names the user.
      await eraseActor(tx, userId)
      await tx.change(forgetKeyCreator, { userId })
      const user = await tx.row(deleteUser, { userId })
      if (!user) throw new Failure('UNAUTHORIZED')
      await tx.change(deleteInvitationsTo, { email: user.email })
      return left
    })
  }
}
