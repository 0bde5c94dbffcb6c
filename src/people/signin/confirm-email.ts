/** What happens when an address is verified: the account joins the org that invited it, or gets its own. */
import { endAllSessions, raiseSessionVersion } from '../../customers/accounts/store/session-rows.ts'
import type { Actor, Audit } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { createOwnedOrg } from './new-org.ts'
import { dropChallenges } from './store/challenge-rows.ts'
import { dropCodes, dropResets } from './store/code-rows.ts'
import {
  type AccountRow,
  changeProfile,
  findFilingOrg,
  markEmailVerified,
  setDefaultOrg,
  setPassword,
} from './store/user-rows.ts'

type Invited = { inviteHash: Buffer; userId: string; email: string; actor: Actor }

/** Accepts the invitation and returns its org. Undefined when it is for another address, or no longer open. */
export type JoinInvited = (tx: Tx, invited: Invited) => Promise<string | undefined>

type Needs = { clock: Clock; audit: Audit; joinInvited: JoinInvited }

export const makeConfirmEmail = ({ clock, audit, joinInvited }: Needs) => {
  const recordRegistration = (tx: Tx, orgId: string, userId: string, actor: Actor): Promise<void> =>
    audit(tx, { orgId, actor, action: 'user.registered', resourceType: 'user', resourceId: userId })

  const giveOrg = async (tx: Tx, userId: string, name: string, actor: Actor) => {
    const at = clock.now()
    const { id: orgId, slug } = await createOwnedOrg(tx, { name, userId, at })
    await tx.change(setDefaultOrg, { userId, orgId, at })
    await recordRegistration(tx, orgId, userId, actor)
    const metadata = { name, slug }
    await audit(tx, { orgId, actor, action: 'org.created', resourceType: 'org', resourceId: orgId, metadata })
    return orgId
  }

  const confirm = async (tx: Tx, account: AccountRow, actor: Actor) => {
    const { id: userId, email, pending_invite_hash: inviteHash } = account
    if (!(await tx.row(markEmailVerified, { userId, at: clock.now() }))) return
    const joined = inviteHash === null ? undefined : await joinInvited(tx, { inviteHash, userId, email, actor })
    // An account without a pending org got its org when it was registered.
    if (account.pending_org_name !== null) {
      if (joined === undefined) await giveOrg(tx, userId, account.pending_org_name, actor)
      else {
        await tx.change(setDefaultOrg, { userId, orgId: joined, at: clock.now() })
        await recordRegistration(tx, joined, userId, actor)
      }
    }
    const filing = await tx.row(findFilingOrg, { userId })
    if (!filing) return
    const entry = { actor, action: 'user.email_verified', resourceType: 'user', resourceId: userId } as const
    await audit(tx, { ...entry, orgId: filing.org_id })
  }

  return {
    /** Marks the address as verified. Does nothing if it already is. */
    confirm,
    /** Gives the account its own org. */
    giveOrg,
  }
}

export type ConfirmEmail = ReturnType<typeof makeConfirmEmail>

/**
 * Gives an account that was never verified to the person who has now proven its address. The person who registered the
 * address without proving it loses every way in.
 */
export type TakeOverAccount = (tx: Tx, account: AccountRow, name: string, actor: Actor) => Promise<void>

export const makeTakeOverAccount =
  ({ clock, confirmEmail }: { clock: Clock; confirmEmail: ConfirmEmail }): TakeOverAccount =>
  async (tx, account, name, actor) => {
    const userId = account.id
    const at = clock.now()
    await tx.change(setPassword, { userId, passwordHash: null, at })
    await tx.row(raiseSessionVersion, { userId, at })
    await tx.change(endAllSessions, { userId })
    await tx.change(dropCodes, { userId })
    await tx.change(dropChallenges, { userId })
    await tx.change(dropResets, { userId })
    await tx.row(changeProfile, { userId, name, defaultOrgId: null, at })
    await confirmEmail.confirm(tx, account, actor)
  }
