/** Creates an org with an owner, a default project, two keys and, outside production, verified senders. */
import { randomBytes } from 'node:crypto'
import { hashPassword } from '../../customers/accounts/passwords.ts'
import { findUserByEmail, insertMembership, insertUser } from '../../customers/accounts/store/account-rows.ts'
import { mintKey } from '../../customers/keys/key-secret.ts'
import { scopes } from '../../customers/keys/scopes.ts'
import { insertKey } from '../../customers/keys/store.ts'
import type { Plan } from '../../customers/orgs/plans.ts'
import { anyOrg, setOwner } from '../../customers/orgs/store.ts'
import { insertDefaultProject, insertOrgWithFreeSlug } from '../../people/signin/new-org.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Vault } from '../../platform/ground/crypto.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import { claimSetting } from '../../platform/settings/store.ts'
import type { DkimKey } from '../../senders/domains/dkim-key.ts'
import { makeVerifiedDomain, type VerifiedDomain } from '../../senders/domains/verified.ts'
import { insertAlphanumeric } from '../../senders/sms/store/phone-number-rows.ts'

export type CreatedOrg = {
  base_url: string
  org: { id: string; slug: string }
  owner: { email: string; password: string | null }
  keys: { live: string; test: string }
  domain: string | null
  sms_sender: string | null
}

type CreateOrgInput = {
  name: string
  plan: Plan
  ownerEmail?: string
  /** Adds a domain and an alphanumeric SMS sender that count as verified without a check. Never in production. */
  withSenders: boolean
}

type Needs = {
  db: Db
  clock: Clock
  baseUrl: string
  serviceDomain: string
  /** Encrypts the domain's DKIM key. */
  vault: Vault
  /** Generates the DKIM key. Tests share one, because generating a key is slow. */
  newKey?: () => Promise<DkimKey>
  /** Hashes the owner's password. Tests use a cheaper hash, for the same reason. */
  hash?: typeof hashPassword
}

const senderDomain = 'example.test'
const smsSender = { id: 'TIDINGS', country: 'GB' }

type NewKey = { orgId: string; name: string; environment: Environment; scopes: readonly string[]; at: Date }

export const issueKey = async (
  tx: Tx,
  { orgId, name, environment, scopes, at }: NewKey,
): Promise<{ id: string; key: string }> => {
  const { key, hash, prefix, lastFour } = mintKey(environment)
  const id = newId('key', at.getTime())
  await tx.row(insertKey, {
    orgId,
    id,
    hash,
    name,
    environment,
    prefix,
    lastFour,
    scopes: [...scopes],
    tenantId: null,
    projectId: null,
    allowedDomainIds: null,
    allowedCidrs: null,
    ratePerMinute: null,
    expiresAt: null,
    origin: 'operator',
    createdBy: null,
    at,
  })
  return { id, key }
}

type Password = { plain: string; hash: string }

const makePassword = async (hash: typeof hashPassword): Promise<Password> => {
  const plain = randomBytes(12).toString('base64url')
  return { plain, hash: await hash(plain) }
}

/** Prepared before the transaction, because hashing and key generation are slow. */
type Prepared = { password: Password; domain: VerifiedDomain | undefined }

type NewSenders = { orgId: string; projectId: string; domain: VerifiedDomain; at: Date }
type NewOwner = { orgId: string; email: string; password: Password; at: Date }

export const makeCreateOrg = (needs: Needs) => {
  const { db, clock, baseUrl, serviceDomain, vault, newKey, hash = hashPassword } = needs

  const prepare = async ({ withSenders }: CreateOrgInput): Promise<Prepared> => ({
    password: await makePassword(hash),
    domain: withSenders ? await makeVerifiedDomain({ clock, vault, newKey }, senderDomain) : undefined,
  })

  const insertSenders = async (tx: Tx, { orgId, projectId, domain, at }: NewSenders): Promise<void> => {
    await domain.insert(tx, orgId, projectId)
    const numberId = newId('phoneNumber', at.getTime())
    await tx.change(insertAlphanumeric, {
      orgId,
      id: numberId,
      senderId: smsSender.id,
      isoCountry: smsSender.country,
      at,
    })
  }

  const insertOwner = async (tx: Tx, { orgId, email, password, at }: NewOwner): Promise<CreatedOrg['owner']> => {
    const existing = await tx.row(findUserByEmail, { email })
    const userId = existing?.id ?? newId('user', at.getTime())
    if (!existing) {
      await tx.change(insertUser, {
        id: userId,
        email,
        name: 'Owner',
        passwordHash: password.hash,
        verifiedAt: at,
        orgId,
        at,
      })
    }
    await tx.change(insertMembership, { orgId, id: newId('membership', at.getTime()), userId, role: 'owner', at })
    await tx.change(setOwner, { orgId, userId, at })
    // A user who already has an account keeps their password.
    return { email, password: existing ? null : password.plain }
  }

  const insertAll = async (tx: Tx, input: CreateOrgInput, { password, domain }: Prepared): Promise<CreatedOrg> => {
    const at = clock.now()
    const orgId = newId('org', at.getTime())
    const slug = await insertOrgWithFreeSlug(tx, { id: orgId, name: input.name, plan: input.plan, at })
    const email = (input.ownerEmail ?? `owner@${slug}.${serviceDomain}`).toLowerCase()
    const owner = await insertOwner(tx, { orgId, email, password, at })
    const projectId = await insertDefaultProject(tx, orgId, at)
    const keyOf = (name: string, environment: Environment) => issueKey(tx, { orgId, name, environment, scopes, at })
    const live = await keyOf('First live key', 'live')
    const test = await keyOf('First test key', 'test')
    if (domain) await insertSenders(tx, { orgId, projectId, domain, at })
    return {
      base_url: baseUrl,
      org: { id: orgId, slug },
      owner,
      keys: { live: live.key, test: test.key },
      domain: input.withSenders ? senderDomain : null,
      sms_sender: input.withSenders ? smsSender.id : null,
    }
  }

  return {
    create: async (input: CreateOrgInput): Promise<CreatedOrg> => {
      const prepared = await prepare(input)
      return db.tx((tx) => insertAll(tx, input, prepared))
    },
    /**
     * Creates the first org of an empty database. Returns undefined if one exists. Safe to call concurrently. `save` keeps
     * the credentials before the org exists: if it fails, nothing is created, and the next start tries again.
     */
    createFirst: async (save: (created: CreatedOrg) => Promise<void>): Promise<CreatedOrg | undefined> => {
      if (await db.row(anyOrg)) return undefined
      const input: CreateOrgInput = { name: 'First organisation', plan: 'enterprise', withSenders: true }
      const prepared = await prepare(input)
      return db.tx(async (tx) => {
        // The process that inserts this row first creates the org. The others wait here and then see the row.
        const first = await tx.row(claimSetting, { name: 'first_run', value: JSON.stringify(true), at: clock.now() })
        if (!first || (await tx.row(anyOrg))) return undefined
        const created = await insertAll(tx, input, prepared)
        await save(created)
        return created
      })
    },
  }
}
