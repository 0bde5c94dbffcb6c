/** Audit entries are archived before retention deletes them. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { linesOf, storeOn } from '../../../test/audit/archive.ts'
import { cutover, whole, writer } from '../../../test/audit/chain.ts'
import { startS3Server } from '../../../test/servers/s3.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeArchiveDay } from './archive-day.ts'
import { makePruneAudit } from './retention.ts'

const secret = 'audit-test-secret'
const day = 86_400_000
const s3 = await startS3Server()
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
afterAll(async () => {
  await t.stop()
  await s3.close()
})
beforeEach(() => {
  s3.objects.clear()
  s3.failWith = undefined
})
const clock = t.service.clock as MovableClock
const { db, chain } = t.service
const { one, many } = writer(t)
const archive = makeArchiveDay({ db, store: storeOn(s3) })
const prune = async () => {
  await chain.link()
  return makePruneAudit({ db, clock, log: silentLog(), secrets: [secret], cutover, days: 365, archive })()
}
const left = async (orgId: string) =>
  (await t.database.sql<{ n: number }>('select count(*)::int as n from audit_entries where org_id = $1', [orgId]))[0]?.n

test('A-359 A-361 R-47 entries older than 365 days go by whole days, each day into one file that has them all', async () => {
  const { org } = await t.org()
  // The start of a day.
  clock.advance(day - (clock.millis() % day))
  const first = clock.now().toISOString().slice(0, 10)
  await many(org.id, 1_100)
  clock.advance(day)
  await one(org.id, 'second day')
  clock.advance(365 * day - 60_000)
  expect(await prune()).toBe(0)
  clock.advance(60_000)
  expect(await prune()).toBe(1_100)
  const name = `archive/audit/${org.id}/${first}.ndjson.gz`
  expect([...s3.objects.keys()]).toEqual([name])
  const lines = linesOf(gunzipSync(s3.objects.get(name) as Buffer))
  expect(lines).toHaveLength(1_100)
  expect(lines[0]).toMatchObject({
    org_id: org.id,
    action: 'org.updated',
    signature: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(await left(org.id)).toBe(1)
  expect(await chain.verify(org.id)).toEqual(whole(org.id, 1, { pruned: 'ok' }))
})

test('A-362 R-47 while the upload fails the entries stay, and the next run archives and deletes them', async () => {
  const { org } = await t.org()
  await many(org.id, 3)
  clock.advance(367 * day)
  s3.failWith = 503
  await prune()
  expect([await left(org.id), s3.objects.size]).toEqual([3, 0])
  s3.failWith = undefined
  await prune()
  expect(await left(org.id)).toBe(0)
  expect([...s3.objects.keys()].filter((name) => name.includes(org.id))).toHaveLength(1)
})

test('R-47 a file of an interrupted run is kept if it has all entries that are left, and otherwise the entries are kept', async () => {
  const { org } = await t.org()
  await many(org.id, 5)
  const date = clock.now().toISOString().slice(0, 10)
  clock.advance(367 * day)
  await chain.link()
  await archive(org.id, date)
  const name = `archive/audit/${org.id}/${date}.ndjson.gz`
  const complete = s3.objects.get(name) as Buffer
  const lacking = gzipSync(gunzipSync(complete).toString().split('\n').slice(1).join('\n'))
  s3.objects.set(name, lacking)
  await prune()
  expect([await left(org.id), s3.objects.get(name)]).toEqual([5, lacking])
  s3.objects.set(name, complete)
  await prune()
  expect([await left(org.id), s3.objects.get(name)]).toEqual([0, complete])
})
