/** Entries older than the retention period are removed from the old end of the chain, and the rest stays valid. */
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { chainOf, cutover, linksOf, whole, writer } from '../../../test/audit/chain.ts'
import { tamper } from '../../../test/audit/tamper.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeAudit } from './append.ts'
import { makeChain } from './chain.ts'
import { makePruneAudit } from './retention.ts'
import { makeTrustEnds } from './trust-ends.ts'

const secret = 'audit-test-secret'
const day = 86_400_000

const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret, AUDIT_LOG_RETENTION_DAYS: '30' } })
afterAll(() => t.stop())
const clock = t.service.clock as MovableClock
const { one, many } = writer(t)
const { chain, db } = t.service

const runRetention = async () => (await t.service.tasks.retention?.run())?.audit_entries_deleted
const remaining = async (orgId: string) => (await linksOf(t, orgId)).map(({ resource_id }) => resource_id)

test('A-360 entries older than the retention period are removed, linked or not, and the rest of the chain is intact', async () => {
  const { org } = await t.org()
  await one(org.id, 'a')
  await one(org.id, 'b')
  clock.advance(10 * day)
  await one(org.id, 'c')
  clock.advance(20 * day - 60_000)
  expect(await runRetention()).toBe(0)
  expect(await remaining(org.id)).toEqual(['a', 'b', 'c'])
  clock.advance(120_000)
  expect(await runRetention()).toBe(2)
  expect(await remaining(org.id)).toEqual(['c'])
  const rows = await t.database.sql('select resource_id from audit_entries where org_id = $1', [org.id])
  expect(rows).toEqual([{ resource_id: 'c' }])
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 1, { pruned: 'ok' }))
  await one(org.id, 'd')
  expect(await chain.link()).toBe(1)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 2, { pruned: 'ok' }))
  clock.advance(40 * day)
  expect(await runRetention()).toBe(2)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 0, { pruned: 'ok' }))
  await one(org.id, 'e')
  await chain.link()
  expect((await linksOf(t, org.id)).map(({ seq }) => seq)).toEqual([5])
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 1, { pruned: 'ok' }))
})

test('any number of entries is removed, separately per org', async () => {
  const [a, b] = [(await t.org()).org.id, (await t.org()).org.id]
  await many(a, 2_500)
  await many(b, 2)
  clock.advance(31 * day)
  await one(a, 'young')
  expect(await runRetention()).toBeGreaterThanOrEqual(2_502)
  expect([await remaining(a), await remaining(b)]).toEqual([['young'], []])
  expect(await chain.verify(a)).toEqual(whole(a, 1, { pruned: 'ok' }))
})

test('an old entry that is linked after a newer one is kept as long as that one', async () => {
  const { org } = await t.org()
  await one(org.id, 'old')
  const held = await t.database.sql(
    'delete from audit_unlinked where org_id = $1 returning org_id, created_at, entry_id',
    [org.id],
  )
  clock.advance(31 * day)
  await one(org.id, 'young')
  await chain.link()
  const [row] = held as { org_id: string; created_at: Date; entry_id: string }[]
  await t.database.sql('insert into audit_unlinked values ($1, $2, $3)', [org.id, row?.created_at, row?.entry_id])
  await runRetention()
  expect(await remaining(org.id)).toEqual(['young', 'old'])
  clock.advance(31 * day)
  await runRetention()
  expect(await remaining(org.id)).toEqual([])
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 0, { pruned: 'ok' }))
})

test('retention stops at a deleted entry, logs it and keeps what comes after it', async () => {
  const { org } = await t.org()
  for (const name of ['a', 'b', 'c']) await one(org.id, name)
  await chain.link()
  const ids = (await linksOf(t, org.id)).map((link) => link.entry_id) as [string, string, string]
  await tamper(t.database, ['delete from audit_entries where id = $1', [ids[1]]])
  clock.advance(31 * day)
  const logFile = await openLogFile()
  onTestFinished(logFile.remove)
  const prune = makePruneAudit({ db, clock, log: logFile.log, secrets: [secret], cutover, days: 30 })
  expect([await prune(), await prune()]).toEqual([1, 0])
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 2, { missing: [ids[1]], pruned: 'ok' }))
  await expect
    .poll(async () =>
      (await logFile.lines('audit retention stopped'))
        .filter((line) => line.org_id === org.id)
        .map(({ level, entry_id, fault }) => [level, entry_id, fault]),
    )
    .toEqual([
      [50, ids[1], 'missing'],
      [50, ids[1], 'missing'],
    ])
})

test('a chain that is being linked is skipped', async () => {
  const { org } = await t.org()
  await one(org.id, 'a')
  await chain.link()
  clock.advance(31 * day)
  const client = await db.connect()
  await client.query('begin')
  await client.query('select org_id from audit_chains where org_id = $1 for update', [org.id])
  await runRetention()
  expect(await remaining(org.id)).toEqual(['a'])
  await client.query('rollback')
  await client.end()
  await runRetention()
  expect(await remaining(org.id)).toEqual([])
})

test('ends from a time without a secret are not extended or pruned until an operator trusts them', async () => {
  const plain = await startTestService()
  onTestFinished(plain.stop)
  const { clock: plainClock, modules } = plain.service
  const movable = plainClock as MovableClock
  const { org } = await plain.org()
  const { one: writeUnsigned } = writer(plain)
  const unsigned = plain.service.chain
  const pruneWith = (...secrets: string[]) =>
    makePruneAudit({ db: modules.db, clock: movable, log: silentLog(), secrets, cutover, days: 30 })()
  await writeUnsigned(org.id, 'a')
  await unsigned.link()
  movable.advance(31 * day)
  await writeUnsigned(org.id, 'b')
  await unsigned.link()
  expect(await pruneWith()).toBe(1)
  const ends = { head: 'unsigned', pruned: 'unsigned', register: 'unsigned' } as const
  expect(await unsigned.verify(org.id)).toEqual(whole(org.id, 1, ends))

  const signed = chainOf(plain, secret)
  const audit = makeAudit({ clock: movable, log: silentLog(), secret })
  const [b] = await linksOf(plain, org.id)
  const stripped = { stripped: [b?.entry_id as string] }
  const strippedEnds = { head: 'stripped', pruned: 'stripped', register: 'stripped' } as const
  await modules.db.tx((tx) =>
    audit(tx, {
      orgId: org.id,
      actor: { kind: 'system' },
      action: 'org.updated',
      resourceType: 'org',
      resourceId: 'c',
    }),
  )
  expect(await signed.link()).toBe(0)
  expect(await signed.verify(org.id)).toEqual(whole(org.id, 1, { ...stripped, ...strippedEnds, waiting: 1 }))
  const trust = makeTrustEnds({ db: modules.db, clock: movable, audit, secrets: [secret] })
  expect(await trust(org.id, 'ann')).toEqual({ head: 'stripped', pruned: 'stripped' })
  expect(await signed.link()).toBe(2)
  expect(await signed.verify(org.id)).toEqual(whole(org.id, 3, { ...stripped, pruned: 'ok' }))
  const createdAfter = new Date(movable.millis() - 86_400_000)
  expect(await signed.verify(org.id, { createdAfter: movable.now() })).toEqual(whole(org.id, 3, { pruned: 'ok' }))
  expect(await signed.verify(org.id, { createdAfter })).toEqual(whole(org.id, 3, { ...stripped, pruned: 'ok' }))
  const rows = await plain.database.sql(
    "select metadata from audit_entries where org_id = $1 and action = 'audit.ends_signed'",
    [org.id],
  )
  expect(rows).toEqual([{ metadata: { operator: 'ann', head: 'stripped', pruned: 'stripped', seq: 2, via: 'system' } }])
  // Without the secret, a signed chain is left as it is.
  await writeUnsigned(org.id, 'd')
  expect(await unsigned.link()).toBe(0)
  movable.advance(31 * day)
  expect(await pruneWith()).toBe(0)
})

describe('a chain that changes while it is verified', () => {
  /** A chain whose verification runs `interrupt` before it reads the given page. */
  const verifierWith = (page: number, interrupt: () => Promise<unknown>) => {
    let pages = 0
    const interrupted: Db = {
      ...db,
      rows: async (statement, ...params) => {
        if (statement.name === 'audit.read_links' && ++pages === page) await interrupt()
        return db.rows(statement, ...params)
      },
    }
    return makeChain({ db: interrupted, clock, log: silentLog(), secrets: [secret], cutover })
  }

  test('is intact up to the previous head when entries are added', async () => {
    const { org } = await t.org()
    await many(org.id, 1_500)
    await chain.link()
    for (const page of [1, 2]) {
      const before = (await chain.verify(org.id)).checked
      const walking = verifierWith(page, async () => {
        await one(org.id, 'new')
        await chain.link()
      })
      expect(await walking.verify(org.id)).toEqual(whole(org.id, before))
    }
    expect(await chain.verify(org.id)).toEqual(whole(org.id, 1_502))
  })

  test('is verified again and intact when retention removes its old end', async () => {
    for (const page of [1, 2]) {
      const { org } = await t.org()
      await many(org.id, 1_500)
      await chain.link()
      clock.advance(31 * day)
      await one(org.id, 'young')
      await chain.link()
      expect(await verifierWith(page, runRetention).verify(org.id)).toEqual(whole(org.id, 1, { pruned: 'ok' }))
    }
  })
})
