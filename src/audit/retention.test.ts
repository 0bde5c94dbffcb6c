/** Entries past their days go from the old end of the chain, and what is left still proves itself. */
import { afterAll, describe, expect, test } from 'vitest'
import { chainOf, linksOf, whole, writer } from '../../test/audit/chain.ts'
import { tamper } from '../../test/audit/tamper.ts'
import { startTestService } from '../../test/service/service.ts'
import type { Db } from '../db/pool.ts'
import type { MovableClock } from '../ground/clock.ts'
import { silentLog } from '../ground/log.ts'
import { makeChain } from './chain.ts'
import { makePruneAudit } from './retention.ts'

const secret = 'audit-test-secret'
const day = 86_400_000

const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret, AUDIT_LOG_RETENTION_DAYS: '30' } })
afterAll(() => t.stop())
const clock = t.service.clock as MovableClock
const { one, many } = writer(t)
const { chain, db } = t.service

const retain = async () => (await t.service.tasks.retention?.run())?.audit_entries_deleted
const left = async (orgId: string) => (await linksOf(t, orgId)).map(({ resource_id }) => resource_id)

test('A-360 takes entries past their days from the old end, whether linked before or not, and the rest is whole', async () => {
  const { org } = await t.org()
  await one(org.id, 'a')
  await one(org.id, 'b')
  clock.advance(10 * day)
  await one(org.id, 'c')
  clock.advance(20 * day - 60_000)
  expect(await retain()).toBe(0)
  expect(await left(org.id)).toEqual(['a', 'b', 'c'])
  clock.advance(120_000)
  expect(await retain()).toBe(2)
  expect(await left(org.id)).toEqual(['c'])
  const rows = await t.database.sql('select resource_id from audit_entries where org_id = $1', [org.id])
  expect(rows).toEqual([{ resource_id: 'c' }])
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 1, { pruned: 'ok' }))
  await one(org.id, 'd')
  expect(await chain.link()).toBe(1)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 2, { pruned: 'ok' }))
  clock.advance(40 * day)
  expect(await retain()).toBe(2)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 0, { pruned: 'ok' }))
  await one(org.id, 'e')
  await chain.link()
  expect((await linksOf(t, org.id)).map(({ seq }) => seq)).toEqual([5])
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 1, { pruned: 'ok' }))
})

test('takes them in any number, each org for itself', async () => {
  const [a, b] = [(await t.org()).org.id, (await t.org()).org.id]
  await many(a, 2_500)
  await many(b, 2)
  clock.advance(31 * day)
  await one(a, 'young')
  expect(await retain()).toBeGreaterThanOrEqual(2_502)
  expect([await left(a), await left(b)]).toEqual([['young'], []])
  expect(await chain.verify(a)).toEqual(whole(a, 1, { pruned: 'ok' }))
})

test('an old entry linked after a young one waits for it', async () => {
  const { org } = await t.org()
  await one(org.id, 'old')
  const held = await t.database.sql('delete from audit_unlinked where org_id = $1 returning *', [org.id])
  clock.advance(31 * day)
  await one(org.id, 'young')
  await chain.link()
  const [row] = held as { org_id: string; created_at: Date; entry_id: string }[]
  await t.database.sql('insert into audit_unlinked values ($1, $2, $3)', [org.id, row?.created_at, row?.entry_id])
  await retain()
  expect(await left(org.id)).toEqual(['young', 'old'])
  clock.advance(31 * day)
  await retain()
  expect(await left(org.id)).toEqual([])
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 0, { pruned: 'ok' }))
})

test('an entry that was removed shows for as long as it would have stood', async () => {
  const { org } = await t.org()
  for (const name of ['a', 'b']) await one(org.id, name)
  clock.advance(20 * day)
  for (const name of ['c', 'd']) await one(org.id, name)
  await chain.link()
  const ids = (await linksOf(t, org.id)).map((link) => link.entry_id) as [string, string, string, string]
  await tamper(t.database, ['delete from audit_entries where id = any($1)', [[ids[0], ids[2], ids[3]]]])
  clock.advance(11 * day)
  // The first goes with the second, which is past its time; nothing says as much of the last two.
  await retain()
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 2, { missing: [ids[2], ids[3]], pruned: 'ok' }))
})

test('leaves alone a chain that a linker has in hand', async () => {
  const { org } = await t.org()
  await one(org.id, 'a')
  await chain.link()
  clock.advance(31 * day)
  const client = await db.connect()
  await client.query('begin')
  await client.query('select * from audit_chains where org_id = $1 for update', [org.id])
  await retain()
  expect(await left(org.id)).toEqual(['a'])
  await client.query('rollback')
  await client.end()
  await retain()
  expect(await left(org.id)).toEqual([])
})

test('without a secret its end is unsigned, and with one set later stripped until the next time', async () => {
  const { org } = await t.org()
  const [blind, seeing] = [chainOf(t, undefined), chain]
  await one(org.id, 'a')
  await one(org.id, 'b')
  await blind.link()
  clock.advance(31 * day)
  await makePruneAudit({ db, clock, secret: undefined, days: 30 })()
  await one(org.id, 'c')
  await blind.link()
  expect(await blind.verify(org.id)).toEqual(whole(org.id, 1, { head: 'unsigned', pruned: 'unsigned' }))
  expect(await seeing.verify(org.id)).toEqual(whole(org.id, 1, { head: 'stripped', pruned: 'stripped' }))
  clock.advance(31 * day)
  await one(org.id, 'd')
  await retain()
  expect(await seeing.verify(org.id)).toEqual(whole(org.id, 1, { pruned: 'ok' }))
})

describe('a chain that changes while it is walked', () => {
  /** A walk before whose page of that number something else happens to the chain. */
  const walkWith = (page: number, meanwhile: () => Promise<unknown>) => {
    let pages = 0
    const interrupted: Db = {
      ...db,
      rows: async (statement, ...params) => {
        if (statement.name === 'audit.read_links' && ++pages === page) await meanwhile()
        return db.rows(statement, ...params)
      },
    }
    return makeChain({ db: interrupted, clock, log: silentLog(), secret })
  }

  test('by growing reads as whole, up to where it was', async () => {
    const { org } = await t.org()
    await many(org.id, 1_500)
    await chain.link()
    for (const page of [1, 2]) {
      const before = (await chain.verify(org.id)).checked
      const walking = walkWith(page, async () => {
        await one(org.id, 'new')
        await chain.link()
      })
      expect(await walking.verify(org.id)).toEqual(whole(org.id, before))
    }
    expect(await chain.verify(org.id)).toEqual(whole(org.id, 1_502))
  })

  test('by losing its old end to retention is walked again, and reads as whole', async () => {
    for (const page of [1, 2]) {
      const { org } = await t.org()
      await many(org.id, 1_500)
      await chain.link()
      clock.advance(31 * day)
      await one(org.id, 'young')
      await chain.link()
      expect(await walkWith(page, retain).verify(org.id)).toEqual(whole(org.id, 1, { pruned: 'ok' }))
    }
  })
})
