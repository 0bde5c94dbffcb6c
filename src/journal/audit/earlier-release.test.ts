/** Entries and chains of the previous release, which knows neither seals nor the register, on the present schema. */
import { createHash, createHmac } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { chainOf, whole, writer } from '../../../test/audit/chain.ts'
import { tamper } from '../../../test/audit/tamper.ts'
import { startTestService } from '../../../test/service/service.ts'
import { canonicalJson } from '../../platform/ground/canonical.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeEraseActor } from './erase-actor.ts'
import { sign } from './sign-entry.ts'

const secret = 'audit-test-secret'
const cutover = readConfig({}).auditCutover.at
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret, AUDIT_LOG_RETENTION_DAYS: '30' } })
afterAll(() => t.stop())
const { chain, db } = t.service
const { one } = writer(t)

type OldEntry = {
  action?: string
  actorUserId?: string | null
  userAgent?: string
  signed?: boolean
  /** How many milliseconds the id is later than the entry. */
  lead?: number
}

/** Inserts an entry as the previous release does, column by column. */
const writeOld = async (orgId: string, old: OldEntry = {}): Promise<string> => {
  const { action = 'org.updated', actorUserId = null, userAgent = 'curl', signed = true } = old
  const createdAt = t.service.clock.now()
  const fields = { orgId, action, actorUserId, createdAt, resourceType: 'org', resourceId: orgId, metadata: { a: 1 } }
  // Makes the next id exact, whatever the time of the last one.
  newId('auditEntry', 0)
  const id = newId('auditEntry', createdAt.getTime() + (old.lead ?? 0))
  const signature = signed ? sign(secret, { ...fields, id }) : null
  const ip = userAgent === 'operator-tool' ? null : '203.0.113.9'
  await t.database.sql(
    `insert into audit_entries (org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
       user_agent, created_at, signature) values ($1, $2, $3, $4, 'org', $1, $5, $6, $7, $8, $9)`,
    [orgId, id, actorUserId, action, JSON.stringify(fields.metadata), ip, userAgent, createdAt, signature],
  )
  await t.database.sql('insert into audit_unlinked (org_id, created_at, entry_id) values ($1, $2, $3)', [
    orgId,
    createdAt,
    id,
  ])
  return id
}

/** Links all waiting entries of an org as the previous release does, without looking at their signatures. */
const linkOld = async (orgId: string): Promise<void> => {
  await t.database.sql(
    "insert into audit_chains (org_id, head_seq, head_digest, updated_at) values ($1, 0, '', $2) on conflict do nothing",
    [orgId, new Date()],
  )
  const [head] = await t.database.sql<{ seq: number; digest: Buffer }>(
    'select head_seq::int as seq, head_digest as digest from audit_chains where org_id = $1',
    [orgId],
  )
  let { seq, digest } = head as { seq: number; digest: Buffer }
  const entries = await t.database.sql<Record<string, unknown> & { id: string; created_at: Date }>(
    `select e.id, e.action, e.resource_type, e.resource_id, e.metadata, e.created_at
     from audit_unlinked u join audit_entries e on e.id = u.entry_id where u.org_id = $1 order by u.created_at, e.id`,
    [orgId],
  )
  for (const { id, action, resource_type, resource_id, metadata, created_at } of entries) {
    const fields = [++seq, orgId, id, action, resource_type, resource_id, metadata, created_at.toISOString()]
    digest = createHash('sha256').update(digest).update(canonicalJson(fields)).digest()
    await t.database.sql('insert into audit_links (org_id, seq, entry_id, digest) values ($1, $2, $3, $4)', [
      orgId,
      seq,
      id,
      digest,
    ])
  }
  const signature = createHmac('sha256', secret)
    .update(JSON.stringify(['head', orgId, seq, digest.toString('hex')]))
    .digest('hex')
  await t.database.sql(
    'update audit_chains set head_seq = $2, head_digest = $3, head_signature = $4 where org_id = $1',
    [orgId, seq, digest, signature],
  )
  await t.database.sql('delete from audit_unlinked where org_id = $1', [orgId])
}

const operator = { action: 'org.suspended', userAgent: 'operator-tool', signed: false }

test('entries of both releases, linked by either in turn, are intact', async () => {
  const { org } = await t.org()
  await writeOld(org.id)
  await writeOld(org.id, operator)
  await linkOld(org.id)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 2, { register: 'none' }))
  await writeOld(org.id)
  await one(org.id, 'new')
  expect(await chain.link()).toBe(2)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 4))
  await one(org.id, 'newer')
  await writeOld(org.id)
  await linkOld(org.id)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 6))
  await one(org.id, 'newest')
  expect(await chain.link()).toBe(1)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 7))
})

test('an entry of the previous release is invalid after a change to a signed field, linked or not', async () => {
  const { org } = await t.org()
  const linked = await writeOld(org.id)
  await linkOld(org.id)
  const waiting = await writeOld(org.id)
  for (const id of [linked, waiting]) {
    await tamper(t.database, ["update audit_entries set actor_user_id = 'usr_x' where id = $1", [id]])
  }
  expect(await chain.link()).toBe(0)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 1, { invalid: [linked, waiting], waiting: 1 }))
})

test('the id of an entry of the previous release may be up to ten seconds later than the entry', async () => {
  const { org } = await t.org()
  const write = (lead: number) => writeOld(org.id, { lead })
  await write(10_000)
  await write(0)
  const wrong = [await write(10_001), await write(-1)]
  expect(await chain.link()).toBe(2)
  const report = await chain.verify(org.id)
  expect(report).toEqual(whole(org.id, 2, { misdated: expect.any(Array), waiting: 2 }))
  expect([...report.misdated].sort()).toEqual(wrong.sort())
})

test('retention adds chains of the previous release to the register, and deletes their entries in time', async () => {
  const { org } = await t.org()
  await writeOld(org.id)
  await writeOld(org.id, operator)
  await linkOld(org.id)
  await t.service.tasks.retention?.run()
  const registered = () => t.database.sql('select org_id from audit_register where org_id = $1', [org.id])
  expect(await registered()).toEqual([{ org_id: org.id }])
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 2))
  ;(t.service.clock as MovableClock).advance(31 * 86_400_000)
  await t.service.tasks.retention?.run()
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 0, { pruned: 'ok' }))
  // A deletion of the whole log is now visible.
  await tamper(
    t.database,
    ['delete from audit_entries where org_id = $1', [org.id]],
    ['delete from audit_links where org_id = $1', [org.id]],
    ['delete from audit_chains where org_id = $1', [org.id]],
  )
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 0, { head: 'deleted' }))
})

test('A-221 A-222 after the erasure of a person, entries of both releases are intact', async () => {
  const { org } = await t.org()
  const userId = newId('user')
  await writeOld(org.id, { actorUserId: userId })
  const { audit } = t.service.modules
  const actor = { kind: 'user', userId, ip: '203.0.113.9', userAgent: 'Firefox' } as const
  const entry = { orgId: org.id, actor, action: 'org.updated', resourceType: 'org', resourceId: org.id } as const
  await db.tx((tx) => audit(tx, entry))
  await chain.link()
  await db.tx((tx) => audit(tx, entry))
  const erase = makeEraseActor({ log: silentLog(), secrets: [secret], cutover })
  expect(await db.tx((tx) => erase(tx, userId))).toBe(3)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 2, { waiting: 1 }))
  expect(await chain.link()).toBe(1)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 3))
})

test('after a change of the secret, the log is intact with the former secret and not without it', async () => {
  const { org } = await t.org()
  const userId = newId('user')
  const old = await writeOld(org.id, { actorUserId: userId })
  await one(org.id, 'sealed')
  await chain.link()
  await one(org.id, 'waiting')
  const rotated = chainOf(t, ['new', secret])
  expect(await rotated.link()).toBe(1)
  expect(await rotated.verify(org.id)).toEqual(whole(org.id, 3))
  const erase = makeEraseActor({ log: silentLog(), secrets: ['new', secret], cutover })
  expect(await db.tx((tx) => erase(tx, userId))).toBe(1)
  expect(await rotated.verify(org.id)).toEqual(whole(org.id, 3))
  const forgetful = chainOf(t, ['new'])
  const { invalid, head } = await forgetful.verify(org.id)
  expect([invalid.length, invalid[0], head]).toEqual([3, old, 'ok'])
  const now = t.service.clock.now()
  const { invalid: later } = await forgetful.verify(org.id, { createdAfter: new Date(now.getTime() + 1) })
  expect(later).toEqual([])
})
