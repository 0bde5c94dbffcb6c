/** A new org with what it needs to start: owner, default project, keys and, outside production, senders. */
import { randomBytes } from 'node:crypto'
import { hashPassword } from '../accounts/passwords.ts'
import { findUserByEmail, insertMembership, insertUser } from '../accounts/store.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { DkimKey } from '../domains/dkim-key.ts'
import { makeVerifiedDomain, type VerifiedDomain } from '../domains/verified.ts'
import type { Clock } from '../ground/clock.ts'
import type { Vault } from '../ground/crypto.ts'
import { newId } from '../ground/ids.ts'
import type { Environment } from '../ground/scope.ts'
import { slugOf, suffixed } from '../ground/slug.ts'
import { mintKey } from '../keys/key-secret.ts'
import { scopes } from '../keys/scopes.ts'
import { insertKey } from '../keys/store.ts'
import type { Plan } from '../orgs/plans.ts'
import { anyOrg, insertOrg, setOwner } from '../orgs/store.ts'
import { insertProject } from '../projects/store.ts'
import { insertAlphanumeric } from '../senders/store.ts'
import { claimSetting } from '../settings/store.ts'

export type CreatedOrg = {
  base_url: string
  org: { id: string; slug: string }
  owner: { email: string; password: string | null }
  keys: { live: string; test: string }
  domain: string | null
  sms_sender: string | null
}

export type CreateOrgInput = {
  name: string
  plan: Plan
  ownerEmail?: string
  /** A verified domain and a verified alphanumeric sender: proven by nobody, so never in production. */
  withSenders: boolean
}

export interface CreateOrg {
  found(order: CreateOrgInput): Promise<CreatedOrg>
  /** The first org of an empty database; undefined when there is one, however many processes ask at once. */
  foundFirst(): Promise<CreatedOrg | undefined>
}

type Needs = {
  db: Db
  clock: Clock
  baseUrl: string
  serviceDomain: string
  /** Seals the key of the domain. */
  vault: Vault
  /** A key of one's own takes a while to make; tests share one. */
  newKey?: () => Promise<DkimKey>
}

const senderDomain = 'example.test'
const smsSender = { id: 'TIDINGS', country: 'GB' }

export const issueKey = async (
  tx: Tx,
  order: { orgId: string; name: string; environment: Environment; scopes: readonly string[]; at: Date },
): Promise<{ id: string; key: string }> => {
  const { key, hash, prefix, lastFour } = mintKey(order.environment)
  const id = newId('key', order.at.getTime())
  await tx.row(insertKey, {
    orgId: order.orgId,
    id,
    hash,
    name: order.name,
    environment: order.environment,
    prefix,
    lastFour,
    scopes: [...order.scopes],
    tenantId: null,
    projectId: null,
    allowedDomainIds: null,
    allowedCidrs: null,
    ratePerMinute: null,
    expiresAt: null,
    origin: 'operator',
    createdBy: null,
    at: order.at,
  })
  return { id, key }
}

/** The slug never changes, since the sandbox host is built from it; a taken one gets a suffix. */
const insertWithFreeSlug = async (tx: Tx, id: string, name: string, plan: Plan, at: Date): Promise<string> => {
  const base = slugOf(name, 'org')
  for (let tries = 0; tries < 10; tries++) {
    const slug = tries === 0 ? base : suffixed(base)
    if (await tx.row(insertOrg, { id, name, slug, plan, at })) return slug
  }
  throw new Error(`no free slug was found for ${base}`)
}

type Password = { plain: string; hash: string }

const makePassword = async (): Promise<Password> => {
  const plain = randomBytes(12).toString('base64url')
  return { plain, hash: await hashPassword(plain) }
}

/** What takes a while to make, made before the transaction. */
type Made = { password: Password; domain: VerifiedDomain | undefined }

export const makeCreateOrg = ({ db, clock, baseUrl, serviceDomain, vault, newKey }: Needs): CreateOrg => {
  const make = async ({ withSenders }: Pick<CreateOrgInput, 'withSenders'>): Promise<Made> => ({
    password: await makePassword(),
    domain: withSenders ? await makeVerifiedDomain({ clock, vault, newKey }, senderDomain) : undefined,
  })

  const insertSenders = async (
    tx: Tx,
    orgId: string,
    projectId: string,
    domain: VerifiedDomain,
    at: Date,
  ): Promise<void> => {
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

  const insertOwner = async (tx: Tx, orgId: string, email: string, password: Password, at: Date) => {
    const known = await tx.row(findUserByEmail, { email })
    const userId = known?.id ?? newId('user', at.getTime())
    if (!known)
      await tx.change(insertUser, {
        id: userId,
        email,
        name: 'Owner',
        passwordHash: password.hash,
        verifiedAt: at,
        orgId,
        at,
      })
    await tx.change(insertMembership, { orgId, id: newId('membership', at.getTime()), userId, role: 'owner', at })
    await tx.change(setOwner, { orgId, userId, at })
    // A person who already has an account keeps the password they know.
    return { email, password: known ? null : password.plain }
  }

  const insertAll = async (tx: Tx, order: CreateOrgInput, { password, domain }: Made): Promise<CreatedOrg> => {
    const at = clock.now()
    const orgId = newId('org', at.getTime())
    const slug = await insertWithFreeSlug(tx, orgId, order.name, order.plan, at)
    const email = (order.ownerEmail ?? `owner@${slug}.${serviceDomain}`).toLowerCase()
    const owner = await insertOwner(tx, orgId, email, password, at)
    const projectId = newId('project', at.getTime())
    await tx.row(insertProject, {
      orgId,
      id: projectId,
      name: 'Default',
      slug: 'default',
      isDefault: true,
      environment: 'live',
      at,
    })
    const keyOf = (name: string, environment: Environment) => issueKey(tx, { orgId, name, environment, scopes, at })
    const live = await keyOf('First live key', 'live')
    const test = await keyOf('First test key', 'test')
    if (domain) await insertSenders(tx, orgId, projectId, domain, at)
    return {
      base_url: baseUrl,
      org: { id: orgId, slug },
      owner,
      keys: { live: live.key, test: test.key },
      domain: order.withSenders ? senderDomain : null,
      sms_sender: order.withSenders ? smsSender.id : null,
    }
  }

  return {
    found: async (order) => {
      const made = await make(order)
      return db.tx((tx) => insertAll(tx, order, made))
    },
    foundFirst: async () => {
      if (await db.row(anyOrg)) return undefined
      const order: CreateOrgInput = { name: 'First organisation', plan: 'enterprise', withSenders: true }
      const made = await make(order)
      return db.tx(async (tx) => {
        // Whoever writes this row first founds; the others wait here and then find it there.
        const first = await tx.row(claimSetting, { name: 'first_run', value: JSON.stringify(true), at: clock.now() })
        if (!first || (await tx.row(anyOrg))) return undefined
        return insertAll(tx, order, made)
      })
    },
  }
}
