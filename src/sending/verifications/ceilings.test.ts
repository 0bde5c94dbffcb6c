/** The hourly ceilings: sliding windows that hold over restarts and over several processes. */
import { afterAll, expect, test } from 'vitest'
import { simulator } from '../../../test/clients/mailer.ts'
import { verifier } from '../../../test/clients/verifier.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const statuses = async (replies: Promise<{ status: number }>[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of await Promise.all(replies)) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

test('S-041 X-354 SD-13 the sixth start to a destination is refused until the oldest of the hour leaves', async () => {
  const own = await verifier(t)
  const to = own.newNumber()
  await own.started({ to })
  await own.advance(600)
  for (let i = 0; i < 4; i++) await own.started({ to })
  const refused = await leavesNoTrace(() => own.start({ to }))
  expectRefusal(refused, 'RATE_LIMITED')
  const wait = Number(refused.headers['retry-after'])
  expect(wait).toBeGreaterThan(2_900)
  expect(wait).toBeLessThanOrEqual(3_000)
  expect((await own.start()).status).toBe(201)
  await own.advance(wait - 5)
  expect((await own.start({ to })).status).toBe(429)
  await own.advance(5)
  expect((await own.start({ to })).status).toBe(201)
  const next = await own.start({ to })
  expectRefusal(next, 'RATE_LIMITED')
  expect(Number(next.headers['retry-after'])).toBeGreaterThan(500)
})

test('S-041 R-29 the ceiling of a destination covers all tenants and any spelling of an address', async () => {
  const own = await verifier(t)
  const to = own.newAddress()
  const key = await t.key(own.orgId, { tenantId: await t.tenant(own.orgId) })
  for (let i = 0; i < 5; i++) {
    const reply = await own.startEmail({ to: i % 2 ? to.toUpperCase() : to }, { key: i % 2 ? key : own.live })
    expect(reply.status).toBe(201)
  }
  for (const from of [key, own.live]) {
    expectRefusal(await leavesNoTrace(() => own.startEmail({ to }, { key: from })), 'RATE_LIMITED')
  }
  expect((await (await verifier(t)).startEmail({ to })).status).toBe(201)
})

test('S-044 S-060 test starts have their own ceilings, and one that is refused is not counted as a test message', async () => {
  const own = await verifier(t)
  const to = own.newNumber()
  for (let i = 0; i < 5; i++) await own.started({ to }, { key: own.test })
  expectRefusal(await leavesNoTrace(() => own.start({ to }, { key: own.test })), 'RATE_LIMITED')
  expect(await own.used()).toMatchObject({ 'org test messages': 5 })
  for (let i = 0; i < 5; i++) await own.started({ to })
  expectRefusal(await leavesNoTrace(() => own.start({ to })), 'RATE_LIMITED')
})

test('R-29 at most five starts an hour have the same rate_limit_key, whatever their destination', async () => {
  const own = await verifier(t)
  const given = { rate_limit_key: '203.0.113.7' }
  for (let i = 0; i < 5; i++) await own.started(given)
  expectRefusal(await leavesNoTrace(() => own.start(given)), 'RATE_LIMITED')
  expectRefusal(await leavesNoTrace(() => own.startEmail(given)), 'RATE_LIMITED')
  expect((await own.start(given, { key: own.test })).status).toBe(201)
  expect((await own.start({ rate_limit_key: '203.0.113.8' })).status).toBe(201)
  expect((await (await verifier(t)).start(given)).status).toBe(201)
})

test('S-042 S-044 X-354 of 1,100 concurrent starts of an org 1,000 succeed, and test starts still do', async () => {
  const own = await verifier(t)
  const replies = Array.from({ length: 1_100 }, () => own.startEmail())
  expect(await statuses(replies)).toEqual({ 201: 1_000, 429: 100 })
  expect(await own.count()).toBe(1_000)
  expect(await own.used()).toMatchObject({ 'org live email': 1_000 })
  expectRefusal(await leavesNoTrace(() => own.start()), 'RATE_LIMITED')
  expect((await own.start({}, { key: own.test })).status).toBe(201)
  await own.advance(3_600)
  expect((await own.start()).status).toBe(201)
})

test('S-041 S-043 of concurrent starts to one destination in two processes, five succeed', async () => {
  const own = await verifier(t)
  const other = await startTestService({ database: t.database })
  try {
    const to = own.newNumber()
    const body = { channel: 'sms', to, from: 'TIDINGS' }
    const starts = Array.from({ length: 40 }, (_, i) =>
      (i % 2 ? t : other).ask('POST', '/api/v1/verifications', { key: own.live, body }),
    )
    expect(await statuses(starts)).toEqual({ 201: 5, 429: 35 })
    expect(await own.count()).toBe(5)
    expect(await own.used()).toMatchObject({ 'org live sms': 5 })
  } finally {
    await other.stop()
  }
})

test('S-043 a ceiling holds after a restart', async () => {
  const own = await verifier(t)
  const body = { channel: 'sms', to: own.newNumber(), from: 'TIDINGS' }
  for (let i = 0; i < 5; i++) await own.started(body)
  const restarted = await startTestService({ database: t.database })
  try {
    const ahead = Math.ceil((t.service.clock.millis() - restarted.service.clock.millis()) / 1000)
    if (ahead > 0) await restarted.ask('POST', '/api/dev/clock', { body: { advance_seconds: ahead } })
    const reply = await restarted.ask('POST', '/api/v1/verifications', { key: own.live, body })
    expectRefusal(reply, 'RATE_LIMITED')
  } finally {
    await restarted.stop()
  }
})

test('SD-13 a start that the provider refuses has spent its unit', async () => {
  const own = await verifier(t)
  const to = simulator('refused')
  for (let i = 0; i < 5; i++) expectRefusal(await own.startEmail({ to }), 'SEND_FAILED')
  expectRefusal(await leavesNoTrace(() => own.startEmail({ to })), 'RATE_LIMITED')
})
