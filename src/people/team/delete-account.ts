/** Deletes a user's account, with all that belongs to the user alone. */
import type { Actor, Audit, UserActor } from '../audit/append.ts'
import type { Db, Tx } from '../db/pool.ts'
import { Failure } from '../ground/errors.ts'
import type { Log } from '../ground/log.ts'
import { forgetKeyCreator } from '../keys/store.ts'
import type { ProvePassword } from '../signin/prove-password.ts'
import { type AccountRow, findAccount } from '../signin/store/user-rows.ts'
import type { Throttle } from '../signin/throttle.ts'
import type { LeaveOrgs, LeftOrgs } from './leave-orgs.ts'
import { deleteInvitationsTo } from './store/invitation-rows.ts'
import { nextOwnOrg } from './store/own-org-rows.ts'
import { deleteUser, findRole } from './store/team-rows.ts'

export type Confirmation = { password?: string | undefined; email?: string | undefined }

export type DeleteAccount = (
  actor: UserActor,
  confirmation: Confirmation,
  options: { activeOrgId: string | null; deleteOwned: boolean },
) => Promise<LeftOrgs>

/** Ends what a person has in another module, such as grants, in the transaction of the deletion. */
export type EndAccountWork = (tx: Tx, actor: UserActor) => Promise<unknown>

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

export const makeDeleteAccount = ({
  db,
  throttle,
  provePassword,
  log,
  audit,
  leave,
  endWork,
  eraseActor,
}: Needs): DeleteAccount => {
  const isAddress = async (account: AccountRow, given: string, ip: string | null): Promise<boolean> => {
    const attempt = await throttle.attempt({ email: account.email, ip })
    try {
      if (given.trim().toLowerCase() === account.email) return true
      await attempt.failed()
      return false
    } finally {
      attempt.end()
    }
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
