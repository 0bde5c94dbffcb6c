/**
 * Domains of people's addresses that an org has proven with a TXT record. Single sign-on and the directory act only for
 * addresses in them.
 */
import { Resolver } from 'node:dns/promises'
import type { AuditedNeeds, UserActor } from '../../journal/audit/append.ts'
import { assertNotInTransaction, type Runner, type Tx } from '../../platform/db/pool.ts'
import { randomBase62 } from '../../platform/ground/crypto.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { domainPart } from '../../platform/ground/mailbox.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { normaliseName } from '../../senders/domains/name.ts'
import { asOwner, lockAsOwner } from '../team/change-team.ts'
import { findSsoOrg } from './store/connection-rows.ts'
import {
  deleteEmailDomain,
  type EmailDomainRow,
  findEmailDomain,
  insertEmailDomain,
  listEmailDomains,
  listVerifiedDomains,
  markDomainVerified,
} from './store/email-domain-rows.ts'

/** The TXT records of a name. Empty if there are none, or the look-up fails. */
type LookUpTxt = (name: string) => Promise<string[]>

const deadlineMs = 10_000

/** `servers` are those of DNS_SERVERS. Undefined uses the resolvers of the machine. */
export const makeLookUpTxt =
  ({ servers }: { servers: readonly string[] | undefined }): LookUpTxt =>
  async (name) => {
    assertNotInTransaction('a DNS look-up')
    const resolver = new Resolver({ timeout: 2_000, tries: 2 })
    if (servers) resolver.setServers(servers)
    const deadline = setTimeout(() => resolver.cancel(), deadlineMs)
    try {
      return (await resolver.resolveTxt(name)).map((chunks) => chunks.join(''))
    } catch {
      return []
    } finally {
      clearTimeout(deadline)
    }
  }

export const maxDomains = 100

const valuePrefix = 'service-sso='

export const txtNameOf = (domain: string): string => `_service-sso.${domain}`
export const txtValueOf = (token: string): string => `${valuePrefix}${token}`

/** The same within a transaction. */
export const isVerifiedWithin = async (runner: Runner, orgId: string, email: string): Promise<boolean> => {
  const domain = normaliseName(domainPart(email))
  if (domain === undefined) return false
  const found = await runner.row(findEmailDomain, { orgId, domain })
  return found !== undefined && found.verified_at !== null
}

const domainNamed = (text: string): string => {
  const domain = normaliseName(text)
  if (domain === undefined) throw invalid(['domain'], 'custom', 'Enter a domain such as example.com.')
  return domain
}

export const makeEmailDomains = ({ db, clock, audit, lookUpTxt }: AuditedNeeds & { lookUpTxt: LookUpTxt }) => {
  const record = (tx: Tx, orgId: string, actor: UserActor, metadata: Record<string, string>): Promise<void> =>
    audit(tx, { orgId, actor, action: 'org.sso_updated', resourceType: 'sso', resourceId: orgId, metadata })

  const find = (runner: Runner, orgId: string, domain: string): Promise<EmailDomainRow> =>
    orNotFound(runner.row(findEmailDomain, { orgId, domain }))

  const add = (orgId: string, actor: UserActor, name: string) =>
    db.tx(async (tx) => {
      const domain = domainNamed(name)
      await lockAsOwner(tx, orgId, actor)
      if ((await tx.rows(listEmailDomains, { orgId, limit: maxDomains })).length === maxDomains) {
        const known = await tx.row(findEmailDomain, { orgId, domain })
        if (known) return { row: known, isNew: false }
        throw invalid(['domain'], 'custom', `An organisation can have ${maxDomains} email domains. Remove one first.`)
      }
      const row = await tx.row(insertEmailDomain, { orgId, domain, token: randomBase62(32), at: clock.now() })
      if (!row) return { row: await find(tx, orgId, domain), isNew: false }
      await record(tx, orgId, actor, { domain, change: 'domain_added' })
      return { row, isNew: true }
    })

  const verify = async (orgId: string, actor: UserActor, name: string) => {
    const domain = domainNamed(name)
    const row = await find(db, orgId, domain)
    if (row.verified_at !== null) return row
    const texts = await lookUpTxt(txtNameOf(domain))
    if (!texts.some((text) => text.trim() === txtValueOf(row.token))) return row
    return asOwner(db, orgId, actor, async (tx) => {
      const verified = await tx.row(markDomainVerified, { orgId, domain, token: row.token, at: clock.now() })
      if (verified) await record(tx, orgId, actor, { domain, change: 'domain_verified' })
      return find(tx, orgId, domain)
    })
  }

  const remove = (orgId: string, actor: UserActor, name: string) =>
    db.tx(async (tx) => {
      const domain = domainNamed(name)
      await lockAsOwner(tx, orgId, actor)
      await orNotFound(tx.row(deleteEmailDomain, { orgId, domain }))
      const left = await tx.rows(listVerifiedDomains, { orgId })
      // Nobody could sign in any more.
      if (left.length === 0 && (await tx.row(findSsoOrg, { orgId }))?.sso_enforced) throw new Failure('SSO_NO_DOMAIN')
      await record(tx, orgId, actor, { domain, change: 'domain_removed' })
    })

  return {
    list: (orgId: string) => db.rows(listEmailDomains, { orgId, limit: maxDomains }),
    verifiedDomains: async (orgId: string) =>
      (await db.rows(listVerifiedDomains, { orgId })).map(({ domain }) => domain),
    /** Whether the address is in a verified domain of the org. A subdomain is a domain of its own. */
    isVerifiedFor: (orgId: string, email: string) => isVerifiedWithin(db, orgId, email),
    /** Returns the domain as it is if the org has it already. */
    add,
    /** Looks for the record now. A domain that is verified stays so. */
    verify,
    remove,
  }
}

export type EmailDomains = ReturnType<typeof makeEmailDomains>
