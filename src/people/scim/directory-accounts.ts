/** The accounts and memberships behind the people of a directory. */
import { endExcessSessions } from '../../customers/accounts/store/session-rows.ts'
import type { Audit } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { comparableAddress } from '../../platform/ground/mailbox.ts'
import type { TakeOverAccount } from '../signin/confirm-email.ts'
import { insertVerified } from '../signin/provider-sign-in.ts'
import { findAccountByEmail, lockAccount } from '../signin/store/user-rows.ts'
import { joinTeam, setFirstDefaultOrg } from '../team/store/team-rows.ts'
import type { DirectoryActor, DirectoryChange, GroupMapping } from './group-mapping.ts'
import type { UserChange } from './read-user.ts'
import { invalidScimValue } from './scim-fault.ts'

/** Whether an address is in a verified email domain of the org. Never called in a transaction. */
export type VerifiedFor = (orgId: string, email: string) => Promise<boolean>

const nameFor = ({ displayName, givenName, familyName }: UserChange, email: string): string => {
  const given = displayName ?? [givenName, familyName].filter(Boolean).join(' ')
  const name = given.replace(/\p{Cc}/gu, ' ').trim()
  // The name of an account has at most 80 characters, and no half of a surrogate pair.
  return name.slice(0, 80).replace(/[\uD800-\uDBFF]$/, '') || (email.split('@')[0] as string)
}

type Needs = {
  clock: Clock
  audit: Audit
  mapping: GroupMapping
  isVerifiedFor: VerifiedFor
  takeOver: TakeOverAccount
}

export const makeDirectoryAccounts = (needs: Needs) => {
  const { clock, audit, mapping, isVerifiedFor, takeOver } = needs

  const assertVerified = async (orgId: string, email: string) => {
    if (await isVerifiedFor(orgId, email)) return
    throw invalidScimValue('The address is outside the verified email domains of the organisation.')
  }

  return {
    assertVerified,

    /** The comparable address of a user name. Fails if it is no address of the org. */
    addressOf: async (orgId: string, userName: string) => {
      const email = userName.includes('<') ? undefined : comparableAddress(userName)
      if (email === undefined) throw invalidScimValue('userName must be an email address.')
      await assertVerified(orgId, email)
      return email
    },

    /** The account with this address, which is made without a password if there is none. */
    openAccount: async (tx: Tx, actor: DirectoryActor, email: string, names: UserChange) => {
      const name = nameFor(names, email)
      const known = await tx.row(findAccountByEmail, { email })
      const created = known ? undefined : await insertVerified(tx, { email, name, at: clock.now() })
      // Another request may make the account between the look and the insert.
      const userId = known?.id ?? created ?? (await tx.row(findAccountByEmail, { email }))?.id
      const account = userId === undefined ? undefined : await tx.row(lockAccount, { userId })
      if (!account) throw new Error('an account disappeared while the directory linked it')
      // Someone registered the address without proving it. The org has proven that its domain is theirs.
      if (account.email_verified_at === null) await takeOver(tx, account, name, actor)
      return account.id
    },

    /** Adds the membership with the role that the groups of the user give. */
    join: async (tx: Tx, { orgId, actor }: DirectoryChange, { id, userId }: { id: string; userId: string }) => {
      const at = clock.now()
      const role = await mapping.roleOf(tx, orgId, userId)
      await tx.change(joinTeam, { orgId, id, userId, role, source: 'scim', ssoExempt: false, at })
      await tx.change(setFirstDefaultOrg, { orgId, userId, at })
      // The org may allow fewer sessions than the user has.
      await tx.rows(endExcessSessions, { orgId: null, userId })
      const metadata = { role, via: 'scim' }
      const entry = { orgId, actor, action: 'member.joined', resourceType: 'membership' } as const
      await audit(tx, { ...entry, resourceId: id, metadata })
    },
  }
}

export type DirectoryAccounts = ReturnType<typeof makeDirectoryAccounts>
