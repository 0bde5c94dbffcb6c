import { afterAll, expect, test } from 'vitest'
import { makeTestDatabase } from '../../../test/service/database.ts'
import { type Db, openDb } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeExpiredReservations } from './expired-reservations.ts'
import { type Spend, settledUsage } from './lines.ts'
import { makeUsage, type Reservation, type Usage } from './reserve.ts'
import { settleUsage } from './store.ts'

const database = await makeTestDatabase()
const pools = [0, 1].map(() => openDb({ url: database.url, log: silentLog(), poolSize: 6 }))
const [db] = pools as [Db]
afterAll(async () => {
  for (const pool of pools) await pool.close()
  await database.drop()
})

/** Does not move by itself, so that every send is of the same second. */
let nowMs = Date.UTC(2026, 0, 15, 12)
const clock: Clock = { millis: () => nowMs, now: () => new Date(nowMs) }

const makeOrg = async (quota: number): Promise<Spend> => {
  const orgId = newId('org')
  await database.sql(
    `insert into orgs (id, name, slug, plan, email_monthly, created_at, updated_at)
     values ($1, 'Acme', $1, 'pro', $2, $3, $3)`,
    [orgId, quota, clock.now()],
  )
  return { orgId, tenantId: null, environment: 'live', keyId: newId('key'), channel: 'email', units: 1 }
}

const usageOf = (pool: Db): Usage => makeUsage({ db: pool, clock, log: silentLog(), trusted: () => true })

const countedOf = async ({ orgId }: Spend) =>
  (
    await database.sql<{ used: number; leased: number }>(
      "select used::int, leased::int from usage_counters where org_id = $1 and subject = 'org' and measure = 'email'",
      [orgId],
    )
  )[0]

const leasesOf = ({ orgId }: Spend) => database.sql('select id from usage_leases where org_id = $1', [orgId])

/** What the record of a message does. */
const record = async (usage: Usage, reservation: Reservation): Promise<void> => {
  if (reservation.draw) await db.row(settleUsage, settledUsage([], [reservation.lines]))
  usage.recorded(reservation)
}

/** Asks until a lease arrives. What was asked before does not count: nothing was reserved for it. */
const firstDraw = async (usage: Usage, spend: Spend): Promise<Reservation> => {
  let drawn: Reservation | undefined
  await expect
    .poll(async () => {
      drawn = await usage.draw(spend)
      return drawn
    })
    .toBeDefined()
  return drawn as Reservation
}

test('X-305 usage that is drawn from a lease is counted with the record, and the lease is returned afterwards', async () => {
  const spend = await makeOrg(100_000)
  const usage = usageOf(db)
  const first = await firstDraw(usage, spend)
  const second = (await usage.draw(spend)) as Reservation
  const { leased } = (await countedOf(spend)) as { leased: number }
  expect(leased).toBeGreaterThanOrEqual(8)
  expect(await countedOf(spend)).toEqual({ used: 0, leased })
  await record(usage, first)
  expect(await countedOf(spend)).toEqual({ used: 1, leased })
  // A lease with a message in progress is kept: the message still counts against the caps of others.
  const stopped = usage.stop()
  await stopped
  expect([await countedOf(spend), await leasesOf(spend)]).toEqual([{ used: 1, leased }, [expect.anything()]])
  await usage.release(second)
  await expect.poll(() => leasesOf(spend)).toEqual([])
  expect(await countedOf(spend)).toEqual({ used: 1, leased: 0 })
})

test('X-305 no lease is granted where a cap or an alert is near', async () => {
  const spend = await makeOrg(190)
  const usage = usageOf(db)
  for (let sends = 0; sends < 50; sends++) {
    expect(await usage.draw(spend)).toBeUndefined()
    await usage.reserve(spend)
  }
  expect([await countedOf(spend), await leasesOf(spend)]).toEqual([{ used: 50, leased: 0 }, []])
})

test('X-305 a message draws only from a lease of its own counters, month and cap', async () => {
  const spend = await makeOrg(100_000)
  const usage = usageOf(db)
  await usage.release(await firstDraw(usage, spend))
  expect(await usage.draw({ ...spend, keyId: newId('key') })).toBeUndefined()
  expect(await usage.draw({ ...spend, channel: 'sms' })).toBeUndefined()
  expect(await usage.draw({ ...spend, sandbox: 1 })).toBeUndefined()
  await database.sql('update orgs set email_monthly = 99999 where id = $1', [spend.orgId])
  usage.forgetAll()
  expect(await usage.draw(spend)).toBeUndefined()
  nowMs += 31 * 86_400_000
  expect(await usage.draw(spend)).toBeUndefined()
  nowMs -= 31 * 86_400_000
  await usage.stop()
})

test('X-305 leases of two processes under load never exceed a cap, and every message is counted once', async () => {
  const quota = 4_000
  const spend = await makeOrg(quota)
  const usages = pools.map(usageOf)
  let sent = 0
  let drawn = 0
  const send = async (i: number): Promise<void> => {
    const usage = usages[i % 2] as Usage
    const reservation = (await usage.draw(spend)) ?? (await usage.reserve(spend))
    if (reservation.draw) drawn++
    // Every tenth is refused by its provider.
    if (i % 10 === 0) return usage.release(reservation)
    await record(usage, reservation)
    sent++
  }
  const refusals: unknown[] = []
  let next = 0
  const run = async (): Promise<void> => {
    while (next < 5_000) await send(next++).catch((error) => refusals.push(error))
  }
  await Promise.all(Array.from({ length: 40 }, run))
  await Promise.all(usages.map((usage) => usage.stop()))
  await expect.poll(() => leasesOf(spend)).toEqual([])
  expect(await countedOf(spend)).toEqual({ used: sent, leased: 0 })
  expect(refusals.every((error) => error instanceof Failure && error.code === 'USAGE_LIMIT_EXCEEDED')).toBe(true)
  expect([drawn > 500, sent <= quota]).toEqual([true, true])
  // What is left can be used to the last unit, and no further.
  while (sent < quota) {
    await (usages[0] as Usage).reserve(spend)
    sent++
  }
  await expect((usages[0] as Usage).reserve(spend)).rejects.toMatchObject({ code: 'USAGE_LIMIT_EXCEEDED' })
  expect(await countedOf(spend)).toEqual({ used: quota, leased: 0 })
})

test('SD-47 the lease of a process that died is returned, and what it recorded stays counted', async () => {
  const spend = await makeOrg(100_000)
  const died = usageOf(db)
  await record(died, await firstDraw(died, spend))
  await died.draw(spend)
  await died.stop()
  const expired = makeExpiredReservations({ db, clock })
  expect([await expired.returnLeases(100), (await countedOf(spend))?.used]).toEqual([0, 1])
  nowMs += 16 * 60_000
  expect([await expired.returnLeases(100), await expired.returnLeases(100)]).toEqual([1, 0])
  expect(await countedOf(spend)).toEqual({ used: 1, leased: 0 })
})

test('X-305 a lease delays the last unit of a cap for nobody once it is returned', async () => {
  const spend = await makeOrg(100_000)
  const usage = usageOf(db)
  const drawn = await firstDraw(usage, spend)
  await database.sql("update usage_counters set used = 99999 where org_id = $1 and measure = 'email'", [spend.orgId])
  await expect(usageOf(pools[1] as Db).reserve(spend)).rejects.toMatchObject({ code: 'USAGE_LIMIT_EXCEEDED' })
  await usage.release(drawn)
  await usage.stop()
  await expect.poll(() => leasesOf(spend)).toEqual([])
  await usageOf(pools[1] as Db).reserve(spend)
  expect((await countedOf(spend))?.used).toBe(100_000)
})
