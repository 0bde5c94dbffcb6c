/** A new org with what it needs to start: owner, default project, keys and, outside production, senders. */
import { randomBytes } from 'node:crypto'
import { hashPassword } from '../accounts/passwords.ts'
import { findUserByEmail, insertMembership, insertUser } from '../accounts/store.ts'
import type { Db, Tx } from '../db/pool.ts'
import { insertVerifiedDomain } from '../domains/store.ts'
import type { Clock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import type { Environment } from '../ground/scope.ts'
import { slugOf, suffixed } from '../ground/slug.ts'
import { scopes } from '../keys/scopes.ts'
import { mintKey } from '../keys/secret.ts'
import { insertKey } from '../keys/store.ts'
import type { Plan } from '../orgs/plans.ts'
import { anyOrg, insertOrg, setOwner } from '../orgs/store.ts'
import { insertProject } from '../projects/store.ts'
import { insertAlphanumeric } from '../senders/store.ts'
import { claimSetting } from '../settings/store.ts'

export type Founded = {
  base_url: string
  org: { id: string; slug: string }
  owner: { email: string; password: string | null }
  keys: { live: string; test: string }
  domain: string | null
  sms_sender: string | null
}

export type Order = {
  name: string
  plan: Plan
  ownerEmail?: string
  /** A verified domain and a verified alphanumeric sender: proven by nobody, so never in production. */
  withSenders: boolean
}

export interface FoundOrg {
  found(order: Order): Promise<Founded>
  /** The first org of an empty database; undefined when there is one, however many processes ask at once. */
  foundFirst(): Promise<Founded | undefined>
}

type Needs = { db: Db; clock: Clock; baseUrl: string; serviceDomain: string }

const senderDomain = 'example.test'
const smsSender = { id: 'TIDINGS', country: 'GB' }

export const issueKey = async (
  tx: Tx,
  order: { orgId: string; name: string; environment: Environment; scopes: readonly string[]; at: Date },
): Promise<{ id: string; key: string }> => {
  const { key, hash, prefix, lastFour } = mintKey(order.environment)
  const id = newId('key', order.at.getTime())
  const unrestricted = [null, null, null, null, null, null, 'operator', null] as const
  await tx.row(
    insertKey,
    ...([order.orgId, id, hash, order.name, order.environment, prefix, lastFour] as const),
    [...order.scopes],
    ...unrestricted,
    order.at,
  )
  return { id, key }
}

/** The slug never changes, since the sandbox host is built from it; a taken one gets a suffix. */
const insertWithFreeSlug = async (
  tx: Tx,
  id: string,
  name: string,
  plan: Plan,
  at: Date,
): Promise<string> => {
  const base = slugOf(name, 'org')
  for (let tries = 0; tries < 10; tries++) {
    const slug = tries === 0 ? base : suffixed(base)
    if (await tx.row(insertOrg, id, name, slug, plan, at)) return slug
  }
  throw new Error(`no free slug was found for ${base}`)
}

type Password = { plain: string; hash: string }

const makePassword = async (): Promise<Password> => {
  const plain = randomBytes(12).toString('base64url')
  return { plain, hash: await hashPassword(plain) }
}

export const makeFoundOrg = ({ db, clock, baseUrl, serviceDomain }: Needs): FoundOrg => {
  const insertSenders = async (tx: Tx, orgId: string, projectId: string, at: Date): Promise<void> => {
    const domainId = newId('domain', at.getTime())
    await tx.change(insertVerifiedDomain, orgId, domainId, projectId, senderDomain, 'us-east-1', at)
    const numberId = newId('phoneNumber', at.getTime())
    await tx.change(insertAlphanumeric, orgId, numberId, smsSender.id, smsSender.country, at)
  }

  const insertOwner = async (tx: Tx, orgId: string, email: string, password: Password, at: Date) => {
    const known = await tx.row(findUserByEmail, email)
    const userId = known?.id ?? newId('user', at.getTime())
    if (!known) await tx.change(insertUser, userId, email, 'Owner', password.hash, at, orgId, at)
    await tx.change(insertMembership, orgId, newId('membership', at.getTime()), userId, 'owner', at)
    await tx.change(setOwner, orgId, userId, at)
    // A person who already has an account keeps the password they know.
    return { email, password: known ? null : password.plain }
  }

  const insertAll = async (tx: Tx, order: Order, password: Password): Promise<Founded> => {
    const at = clock.now()
    const orgId = newId('org', at.getTime())
    const slug = await insertWithFreeSlug(tx, orgId, order.name, order.plan, at)
    const email = (order.ownerEmail ?? `owner@${slug}.${serviceDomain}`).toLowerCase()
    const owner = await insertOwner(tx, orgId, email, password, at)
    const projectId = newId('project', at.getTime())
    await tx.row(insertProject, orgId, projectId, 'Default', 'default', true, 'live', at)
    const keyOf = (name: string, environment: Environment) =>
      issueKey(tx, { orgId, name, environment, scopes, at })
    const live = await keyOf('First live key', 'live')
    const test = await keyOf('First test key', 'test')
    if (order.withSenders) await insertSenders(tx, orgId, projectId, at)
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
      const password = await makePassword()
      return db.tx((tx) => insertAll(tx, order, password))
    },
    foundFirst: async () => {
      if (await db.row(anyOrg)) return undefined
      const password = await makePassword()
      return db.tx(async (tx) => {
        // Whoever writes this row first founds; the others wait here and then find it there.
        const first = await tx.row(claimSetting, 'first_run', JSON.stringify(true), clock.now())
        if (!first || (await tx.row(anyOrg))) return undefined
        return insertAll(tx, { name: 'First organisation', plan: 'enterprise', withSenders: true }, password)
      })
    },
  }
}
