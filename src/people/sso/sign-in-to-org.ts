/** Signs in the person whom the identity provider of an org has proven, and makes them a member where that is allowed. */
import type { AuditedNeeds } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import { newId } from '../../platform/ground/ids.ts'
import { domainPart } from '../../platform/ground/mailbox.ts'
import { lookupName } from '../../senders/domains/name.ts'
import { actorFrom, type CompleteSignIn, type From } from '../signin/complete-sign-in.ts'
import type { TakeOverAccount } from '../signin/confirm-email.ts'
import { accountName, insertVerified } from '../signin/provider-sign-in.ts'
import { findAccountByEmail, lockAccount } from '../signin/store/user-rows.ts'
import { findRole, joinTeam, lockTeam, setFirstDefaultOrg } from '../team/store/team-rows.ts'
import { isVerifiedWithin } from './email-domains.ts'
import {
  type ConnectionRow,
  findConnectionByDomain,
  findConnectionBySlug,
  markSignedIn,
  orgWithSlug,
} from './store/connection-rows.ts'
import { acceptInvitationTo, markMemberSignedIn } from './store/sign-in-rows.ts'

/** Why a sign-in through an identity provider fails. The reason is for the log, and never contains an address. */
export class SsoFault extends Error {}

export type SsoPerson = { email: string; name: string }

type Needs = AuditedNeeds & { takeOver: TakeOverAccount; completeSignIn: CompleteSignIn }

export const makeSignInToOrg = (needs: Needs) => {
  const { db, clock, audit, takeOver, completeSignIn } = needs

  /** An invitation names a role, so it comes before the default role. Without it, an org may not want newcomers. */
  const roleFor = async (tx: Tx, connection: ConnectionRow, email: string): Promise<string> => {
    const orgId = connection.org_id
    const invited = await tx.row(acceptInvitationTo, { orgId, email, at: clock.now() })
    if (invited) return invited.role
    if (!connection.jit_provisioning) throw new SsoFault('not a member')
    return connection.default_role
  }

  const createAccount = async (tx: Tx, orgId: string, { email, name }: SsoPerson, from: From): Promise<string> => {
    const id = await insertVerified(tx, { email, name: accountName(name, email), at: clock.now() })
    // Another request made the account between the look and the insert.
    if (id === undefined) return (await tx.row(findAccountByEmail, { email }))?.id as string
    const actor = actorFrom(id, from)
    await audit(tx, { orgId, actor, action: 'user.registered', resourceType: 'user', resourceId: id })
    return id
  }

  const join = async (tx: Tx, orgId: string, userId: string, role: string, from: From): Promise<void> => {
    const at = clock.now()
    const id = newId('membership', at.getTime())
    await tx.change(joinTeam, { orgId, id, userId, role, source: 'sso', ssoExempt: false, at })
    await tx.change(setFirstDefaultOrg, { orgId, userId, at })
    const entry = { orgId, actor: actorFrom(userId, from), action: 'member.joined' } as const
    await audit(tx, { ...entry, resourceType: 'membership', resourceId: id, metadata: { role, via: 'sso' } })
  }

  return (connection: ConnectionRow, person: SsoPerson, details: { method: string; from: From }) =>
    db.tx(async (tx) => {
      const orgId = connection.org_id
      const { email } = person
      const { from } = details
      if (!(await isVerifiedWithin(tx, orgId, email))) throw new SsoFault('address outside the verified domains')
      // Two sign-ins of a newcomer, or the deletion of the org, run one after the other.
      if (!(await tx.row(lockTeam, { orgId }))) throw new SsoFault('org deleted')
      const known = await tx.row(findAccountByEmail, { email })
      const member = known && (await tx.row(findRole, { orgId, userId: known.id }))
      const role = member ? undefined : await roleFor(tx, connection, email)
      const userId = known?.id ?? (await createAccount(tx, orgId, person, from))
      const account = await tx.row(lockAccount, { userId })
      if (!account) throw new SsoFault('account deleted')
      if (account.email_verified_at === null) {
        await takeOver(tx, account, accountName(person.name, email), actorFrom(userId, from))
      }
      // Taking over an account may have accepted the invitation that it was registered with.
      if (role !== undefined && !(await tx.row(findRole, { orgId, userId }))) await join(tx, orgId, userId, role, from)
      const { configuration } = connection
      if (!(await tx.row(markSignedIn, { orgId, configuration, at: clock.now() }))) {
        throw new SsoFault('configuration changed')
      }
      await tx.change(markMemberSignedIn, { orgId, userId, at: clock.now() })
      return completeSignIn(tx, account, { ...details, activeOrg: orgId, ssoOrgId: orgId })
    })
}

export type SignInToOrg = ReturnType<typeof makeSignInToOrg>

export const makeFindConnection = ({ db }: { db: Db }) => ({
  /** By the slug of the org, or by the domain of an email address. */
  forSignIn: async ({ org, email }: { org?: string | undefined; email?: string | undefined }) => {
    const found =
      org === undefined
        ? await db.row(findConnectionByDomain, { domain: email === undefined ? '' : lookupName(domainPart(email)) })
        : await db.row(findConnectionBySlug, { slug: org })
    if (!found) throw new SsoFault('not configured')
    return found
  },

  hasOrg: async (slug: string) => (await db.row(orgWithSlug, { slug })) !== undefined,
})

export type FindConnection = ReturnType<typeof makeFindConnection>
