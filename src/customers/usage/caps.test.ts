/** Every cap of a send, over HTTP: its error code, what it counts and when it resets. */
import { afterAll, describe, expect, test } from 'vitest'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import { type ProbeSpend, usageProbes } from '../../../test/service/usage-probe.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Plan } from '../orgs/plans.ts'

const t = await startTestService({ routes: usageProbes })
afterAll(() => t.stop())
const clock = t.service.clock as MovableClock
const day = 86_400_000

type Contract = { email?: number; sms?: number; spendMicros?: number }

/** A new org with the given limits. */
const orgWith = async ({ email, sms, spendMicros }: Contract = {}, plan: Plan = 'enterprise'): Promise<CreatedOrg> => {
  const org = await t.org({ plan, name: 'Spender' })
  await t.database.sql(
    `update orgs set email_monthly = $2, sms_monthly = $3, spend_cap_micros = $4, rate_limit_per_minute = 100000
     where id = $1`,
    [org.org.id, email ?? null, sms ?? null, spendMicros ?? null],
  )
  t.service.modules.usage.forgetOrg(org.org.id)
  return org
}

const spend = (key: string, body: ProbeSpend): Promise<Reply> => t.ask('POST', '/api/v1/probe/spend', { key, body })
const release = (key: string, reply: Reply) =>
  t.ask('POST', '/api/v1/probe/release', { key, body: { n: reply.body.n } })
const email = (key: string, units: number) => spend(key, { channel: 'email', units })
const sms = (key: string, units: number) => spend(key, { channel: 'sms', units })
const accepted = (...replies: Reply[]) => expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))

type Counters = Record<string, number>

const counters = async (org: CreatedOrg): Promise<Counters> => {
  const rows = await t.database.sql<{ name: string; used: string }>(
    `select subject || ' ' || environment || ' ' || measure || ' ' || period as name, used from usage_counters
     where org_id = $1 and used > 0`,
    [org.org.id],
  )
  return Object.fromEntries(rows.map(({ name, used }) => [name, Number(used)]))
}

/** Expects that the request changes no counter. */
const withoutCounting = async (org: CreatedOrg, send: () => Promise<Reply>): Promise<Reply> => {
  const before = await counters(org)
  const reply = await send()
  expect(await counters(org)).toEqual(before)
  return reply
}

const nextMonth = (at: Date) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)
const nextDay = (at: Date) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1)

/** Expects Retry-After to be the whole seconds left at the time of the response. */
const expectRetryAfter = async (resetAt: (at: Date) => number, send: () => Promise<Reply>): Promise<Reply> => {
  const before = clock.now()
  const reply = await send()
  const left = (at: Date) => Math.ceil((resetAt(at) - at.getTime()) / 1000)
  const retryAfter = Number(reply.headers['retry-after'])
  expect(retryAfter).toBeLessThanOrEqual(left(before))
  expect(retryAfter).toBeGreaterThanOrEqual(left(clock.now()))
  return reply
}

/** Moves to noon on the first of next month, far from midnight. */
const toNextMonth = () => clock.advance(nextMonth(clock.now()) - clock.millis() + day / 2)
const toNextNoon = () => clock.advance(nextDay(clock.now()) - clock.millis() + day / 2)
// Otherwise a run that starts just before midnight UTC would see the day change.
toNextMonth()

describe('plan quota', () => {
  test('X-305 X-276 the quota is per channel: with SMS exhausted until next month, email can still be sent', async () => {
    const org = await orgWith({ email: 10, sms: 5 })
    const { live } = org.keys
    accepted(await sms(live, 4), await sms(live, 1))
    const refused = await expectRetryAfter(nextMonth, () => withoutCounting(org, () => sms(live, 1)))
    expectRefusal(refused, 'USAGE_LIMIT_EXCEEDED')
    accepted(await email(live, 10))
    expectRefusal(await email(live, 1), 'USAGE_LIMIT_EXCEEDED')
    toNextMonth()
    accepted(await sms(live, 5), await email(live, 10))
    expectRefusal(await sms(live, 1), 'USAGE_LIMIT_EXCEEDED')
  })

  test('X-305 a send that exceeds the quota counts nothing, and a smaller one is accepted afterwards', async () => {
    const org = await orgWith({ email: 10 })
    const { live } = org.keys
    accepted(await email(live, 8))
    expectRefusal(await withoutCounting(org, () => email(live, 3)), 'USAGE_LIMIT_EXCEEDED')
    accepted(await email(live, 2))
  })

  test.each([
    ['free', 3_000, 100],
    ['pro', 100_000, 10_000],
    ['enterprise', 2_000_000, 200_000],
  ] as const)('X-276 XD-24 the %s plan allows %d emails and %d SMS by default', async (plan, mails, messages) => {
    const org = await t.org({ plan })
    const { live } = org.keys
    accepted(await email(live, mails), await sms(live, messages))
    expectRefusal(await email(live, 1), 'USAGE_LIMIT_EXCEEDED')
    expectRefusal(await sms(live, 1), 'USAGE_LIMIT_EXCEEDED')
  })

  test('XD-24 the payg plan has no quota, and a quota of 0 blocks the channel', async () => {
    const payg = await t.org({ plan: 'payg' })
    accepted(await email(payg.keys.live, 50_000_000), await sms(payg.keys.live, 50_000_000))
    const none = await orgWith({ sms: 0 })
    expectRefusal(await sms(none.keys.live, 1), 'USAGE_LIMIT_EXCEEDED')
  })

  test('X-276 of concurrent sends exactly as many succeed as the quota allows', async () => {
    const org = await orgWith({ email: 250 })
    const replies = await Promise.all(Array.from({ length: 300 }, () => email(org.keys.live, 1)))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(250)
    for (const reply of replies.filter(({ status }) => status !== 200)) {
      expectRefusal(reply, 'USAGE_LIMIT_EXCEEDED')
    }
    expect(await counters(org)).toMatchObject({
      [`org live email ${clock.now().toISOString().slice(0, 7)}`]: 250,
    })
  })
})

describe('tenant quota', () => {
  test('X-306 X-277 XD-26 a tenant that reaches its quota is blocked until next month, and other tenants are not', async () => {
    const org = await orgWith()
    const { made, quota } = tenantClient(t, org)
    const [one, two] = [await made(), await made()]
    await quota(one, { email_monthly: 5, sms_monthly: 0 })
    const [first, second] = [await t.key(org.org.id, { tenantId: one }), await t.key(org.org.id, { tenantId: two })]
    accepted(await email(first, 5))
    const refused = await expectRetryAfter(nextMonth, () => withoutCounting(org, () => email(first, 1)))
    expectRefusal(refused, 'TENANT_QUOTA_EXCEEDED')
    expectRefusal(await sms(first, 1), 'TENANT_QUOTA_EXCEEDED')
    accepted(await email(second, 100), await sms(second, 100), await email(org.keys.live, 100))
    toNextMonth()
    accepted(await email(first, 5))
    expectRefusal(await sms(first, 1), 'TENANT_QUOTA_EXCEEDED')
  })

  test('XD-26 the plan quota applies to a tenant without a quota', async () => {
    const org = await orgWith({ sms: 3 })
    const key = await t.key(org.org.id, { tenantId: await tenantClient(t, org).made() })
    accepted(await sms(org.keys.live, 2), await sms(key, 1))
    expectRefusal(await withoutCounting(org, () => sms(key, 1)), 'USAGE_LIMIT_EXCEEDED')
  })

  test('AD-109 XD-26 test messages count separately against the same quota', async () => {
    const org = await orgWith()
    const { made, quota } = tenantClient(t, org)
    const tenantId = await made()
    await quota(tenantId, { sms_monthly: 2 })
    const live = await t.key(org.org.id, { tenantId })
    const test = await t.key(org.org.id, { tenantId, environment: 'test' })
    accepted(await sms(live, 2), await sms(test, 1), await sms(test, 1))
    expectRefusal(await sms(live, 1), 'TENANT_QUOTA_EXCEEDED')
    expectRefusal(await withoutCounting(org, () => sms(test, 1)), 'TENANT_QUOTA_EXCEEDED')
  })

  test('AD-109 SMS counts messages, not segments', async () => {
    const org = await orgWith({ sms: 10 })
    const { made, quota } = tenantClient(t, org)
    const tenantId = await made()
    await quota(tenantId, { sms_monthly: 2 })
    const key = await t.key(org.org.id, { tenantId })
    accepted(await spend(key, { channel: 'sms', units: 1, segments: 7 }))
    accepted(await spend(key, { channel: 'sms', units: 1, segments: 7 }))
    expectRefusal(await spend(key, { channel: 'sms', units: 1, segments: 1 }), 'TENANT_QUOTA_EXCEEDED')
  })
})

describe('spend cap', () => {
  const costing = (key: string, costMicros: number) => spend(key, { channel: 'sms', units: 1, segments: 1, costMicros })

  test('X-307 X-308 X-309 X-278 spend can reach the cap but not exceed it, and free sends are always accepted', async () => {
    const org = await orgWith({ spendMicros: 1_000_000 })
    const { live } = org.keys
    accepted(await costing(live, 999_999))
    const refused = await withoutCounting(org, () => costing(live, 2))
    expectRefusal(refused, 'SPEND_CAP_EXCEEDED')
    expect([refused.status, refused.headers['retry-after']]).toEqual([402, undefined])
    expect((await costing(live, 1)).status).toBe(200)
    expectRefusal(await costing(live, 1), 'SPEND_CAP_EXCEEDED')
    expect((await costing(live, 0)).status).toBe(200)
    expect((await email(live, 1)).status).toBe(200)
    toNextMonth()
    expect((await costing(live, 1_000_000)).status).toBe(200)
  })

  test('X-309 a send that counts nothing is accepted even when the cap was lowered below the usage', async () => {
    const org = await orgWith()
    const { live } = org.keys
    accepted(await email(live, 10))
    await t.database.sql('update orgs set email_monthly = 5 where id = $1', [org.org.id])
    t.service.modules.usage.forgetOrg(org.org.id)
    accepted(await email(live, 0))
    expectRefusal(await email(live, 1), 'USAGE_LIMIT_EXCEEDED')
  })

  test('X-307 X-309 a cap of 0 allows only free sends, and without a cap all are allowed', async () => {
    const none = await orgWith({ spendMicros: 0 })
    expectRefusal(await costing(none.keys.live, 1), 'SPEND_CAP_EXCEEDED')
    expect((await costing(none.keys.live, 0)).status).toBe(200)
    const open = await orgWith()
    expect((await costing(open.keys.live, 10_000_000_000)).status).toBe(200)
  })

  test('X-307 all channels and tenants share one cap, and concurrent sends cannot exceed it', async () => {
    const org = await orgWith({ spendMicros: 100 })
    const key = await t.key(org.org.id, { tenantId: await tenantClient(t, org).made() })
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        i % 2 ? costing(key, 9) : spend(org.keys.live, { channel: 'email', units: 1, costMicros: 9 }),
      ),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(11)
    expect(await counters(org)).toMatchObject({
      [`org live spend ${clock.now().toISOString().slice(0, 7)}`]: 99,
    })
  })

  test('X-307 test messages cost nothing', async () => {
    const org = await orgWith({ spendMicros: 0 })
    expect((await costing(org.keys.test, 1_000)).status).toBe(200)
  })
})

describe('daily limits', () => {
  test('X-311 X-282 X-331 the sandbox allows 100 recipients per day, has no Retry-After, and resets at 00:00 UTC', async () => {
    const org = await orgWith()
    const { live } = org.keys
    const sandboxed = (recipients: number, key = live) =>
      spend(key, { channel: 'email', units: recipients, sandbox: recipients })
    accepted(await sandboxed(60), await sandboxed(39))
    expectRefusal(await withoutCounting(org, () => sandboxed(2)), 'SANDBOX_DAILY_LIMIT')
    accepted(await sandboxed(1))
    const refused = await sandboxed(1)
    expectRefusal(refused, 'SANDBOX_DAILY_LIMIT')
    expect(refused.headers).not.toHaveProperty('retry-after')
    accepted(await email(live, 500), await sandboxed(101, org.keys.test))
    clock.advance(nextDay(clock.now()) - clock.millis() - 5_000)
    expectRefusal(await sandboxed(1), 'SANDBOX_DAILY_LIMIT')
    toNextNoon()
    accepted(await sandboxed(100))
    expectRefusal(await sandboxed(1), 'SANDBOX_DAILY_LIMIT')
  })

  test('X-281 XD-20 each domain in warmup has its own daily cap for live messages', async () => {
    const org = await orgWith()
    const { live } = org.keys
    const [domainId, other] = [newId('domain'), newId('domain')]
    const from = (id: string, recipients: number, cap: number, key = live) =>
      spend(key, { channel: 'email', units: recipients, warmup: { domainId: id, recipients, cap } })
    accepted(await from(domainId, 30, 50), await from(domainId, 20, 50))
    const refused = await expectRetryAfter(nextDay, () => withoutCounting(org, () => from(domainId, 1, 50)))
    expectRefusal(refused, 'WARMUP_LIMIT_EXCEEDED')
    accepted(await from(other, 50, 50), await from(domainId, 60, 50, org.keys.test))
    toNextNoon()
    // The cap doubles the next day.
    accepted(await from(domainId, 100, 100))
    expectRefusal(await from(domainId, 1, 100), 'WARMUP_LIMIT_EXCEEDED')
  })

  test('XD-10 the daily test limit is shared by all channels and does not count live messages', async () => {
    const org = await t.org({ plan: 'free' })
    const { live, test: testKey } = org.keys
    accepted(await email(live, 900), await email(testKey, 600), await sms(testKey, 400))
    for (const send of [email, sms]) {
      const refused = await expectRetryAfter(nextDay, () => withoutCounting(org, () => send(testKey, 1)))
      expectRefusal(refused, 'TEST_DAILY_LIMIT')
    }
    accepted(await email(live, 1))
    toNextNoon()
    // More than the monthly plan quota, which applies to live messages only.
    accepted(await sms(testKey, 1_000))
    expectRefusal(await sms(testKey, 1), 'TEST_DAILY_LIMIT')
  })
})

describe('all caps', () => {
  test('are checked in the order sandbox, plan, tenant, spend, warmup', async () => {
    const org = await orgWith({ email: 1, spendMicros: 1 })
    const { made, quota } = tenantClient(t, org)
    const tenantId = await made()
    await quota(tenantId, { email_monthly: 1 })
    const key = await t.key(org.org.id, { tenantId })
    const domainId = newId('domain')
    const sendWith = (overrides: Partial<ProbeSpend> = {}) =>
      withoutCounting(org, () =>
        spend(key, {
          channel: 'email',
          units: 101,
          sandbox: 101,
          costMicros: 2,
          warmup: { domainId, recipients: 101, cap: 50 },
          ...overrides,
        }),
      )
    expectRefusal(await sendWith(), 'SANDBOX_DAILY_LIMIT')
    expectRefusal(await sendWith({ sandbox: 0 }), 'USAGE_LIMIT_EXCEEDED')
    await t.database.sql('update orgs set email_monthly = 1000 where id = $1', [org.org.id])
    t.service.modules.usage.forgetOrg(org.org.id)
    expectRefusal(await sendWith({ sandbox: 0 }), 'TENANT_QUOTA_EXCEEDED')
    await quota(tenantId, { email_monthly: null })
    expectRefusal(await sendWith({ sandbox: 0 }), 'SPEND_CAP_EXCEEDED')
    expectRefusal(await sendWith({ sandbox: 0, costMicros: 0 }), 'WARMUP_LIMIT_EXCEEDED')
    const last = await spend(key, { channel: 'email', units: 101, sandbox: 0, costMicros: 1 })
    expect(last.status).toBe(200)
  })

  test('XD-24 a release reverts every counter once, and the usage can be reserved again', async () => {
    const org = await orgWith({ email: 10, spendMicros: 100 })
    const tenantId = await tenantClient(t, org).made()
    const key = await t.key(org.org.id, { tenantId })
    const full: ProbeSpend = {
      channel: 'email',
      units: 10,
      segments: 3,
      costMicros: 100,
      sandbox: 10,
      warmup: { domainId: newId('domain'), recipients: 10, cap: 10 },
    }
    const first = await spend(key, { ...full, units: 1, costMicros: 1, sandbox: 1, segments: 1 })
    const before = await counters(org)
    expectRefusal(await spend(key, full), 'USAGE_LIMIT_EXCEEDED')
    await release(key, first)
    expect(await counters(org)).toEqual({})
    const second = await spend(key, full)
    const reserved = await counters(org)
    expect(Object.values(reserved).sort((a, b) => a - b)).toEqual([3, 3, 3, 10, 10, 10, 10, 10, 100, 100])
    expectRefusal(await spend(key, { channel: 'email', units: 1 }), 'USAGE_LIMIT_EXCEEDED')
    await release(key, second)
    expect(await counters(org)).toEqual({})
    accepted(await spend(key, { ...full, units: 1, costMicros: 1, sandbox: 1, segments: 1, warmup: undefined }))
    expect(Object.keys(await counters(org))).toHaveLength(Object.keys(before).length - 1)
  })

  test('a release applies to the month of the reservation', async () => {
    const org = await orgWith({ sms: 5 })
    const { live } = org.keys
    const early = await sms(live, 5)
    const before = await counters(org)
    toNextMonth()
    accepted(await sms(live, 3))
    await release(live, early)
    const left = Object.entries(await counters(org))
    expect(left.map(([, used]) => used)).toEqual([3, 3])
    for (const [name] of left) expect(before).not.toHaveProperty([name])
  })
})
