/** Usage alerts at 80 and 100 percent: when they are sent, what they contain, and that each is sent exactly once. */
import fc from 'fast-check'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Plan } from '../orgs/plans.ts'
import type { Spend } from './lines.ts'

const t = await startTestService()
const second = await startTestService({ database: t.database })
afterAll(async () => {
  await second.stop()
  await t.stop()
})
const clock = t.service.clock as MovableClock
const nextMonth = () => {
  const at = clock.now()
  const ahead = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 2) - at.getTime()
  for (const service of [t, second]) (service.service.clock as MovableClock).advance(ahead)
}
nextMonth()
const month = () => clock.now().toISOString().slice(0, 7)
const modules = [t.service.modules.usage, second.service.modules.usage] as const
const [usage] = modules

type Contract = { plan?: Plan; email?: number; sms?: number; spendMicros?: number }

/** Inserts only the org row, because one test creates more than a hundred orgs. */
const orgWith = async ({ plan = 'pro', email, sms, spendMicros }: Contract): Promise<string> => {
  const id = newId('org')
  await t.database.sql(
    `insert into orgs (id, name, slug, plan, email_monthly, sms_monthly, spend_cap_micros, created_at, updated_at)
     values ($1, 'x', $1, $2, $3, $4, $5, $6, $6)`,
    [id, plan, email ?? null, sms ?? null, spendMicros ?? null, clock.now()],
  )
  return id
}

type Part = Partial<Spend> & Pick<Spend, 'channel' | 'units'>
const spending = (orgId: string, part: Part): Spend => ({
  orgId,
  tenantId: null,
  environment: 'live',
  keyId: null,
  ...part,
})
const spend = (orgId: string, part: Part, by = usage) => by.reserve(spending(orgId, part))

const events = (orgId: string) =>
  t.database.sql<{ data: Record<string, unknown> }>(
    `select org_id, id, tenant_id, environment, event, data, created_at from events
     where org_id = $1
     order by created_at, id`,
    [orgId],
  )
const alertData = async (orgId: string) => (await events(orgId)).map(({ data }) => data)
const alerts = (orgId: string) =>
  t.database.sql('select period, channel, kind, threshold from usage_alerts where org_id = $1 order by 1, 2, 3, 4', [
    orgId,
  ])
const thresholds = async (orgId: string) => (await alertData(orgId)).map(({ threshold }) => threshold)

describe('thresholds', () => {
  test('X-121 X-123 X-124 an alert is sent when a send reaches 80 and 100 percent of the plan quota', async () => {
    const orgId = await orgWith({ email: 10, sms: 1_000 })
    await spend(orgId, { channel: 'email', units: 7 })
    await spend(orgId, { channel: 'sms', units: 9 })
    expect(await events(orgId)).toEqual([])
    await spend(orgId, { channel: 'email', units: 1 })
    const alertEvent = (threshold: number, used: number) => ({
      org_id: orgId,
      id: expect.stringMatching(/^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
      tenant_id: null,
      environment: null,
      event: 'usage.alert',
      data: { channel: 'email', period: month(), threshold, kind: 'plan_allowance', used, limit: 10 },
      created_at: expect.any(Date),
    })
    expect(await events(orgId)).toEqual([alertEvent(80, 8)])
    await spend(orgId, { channel: 'email', units: 1 })
    expect(await events(orgId)).toHaveLength(1)
    await spend(orgId, { channel: 'email', units: 1 })
    expect(await events(orgId)).toEqual([alertEvent(80, 8), alertEvent(100, 10)])
    const at = { period: month(), channel: 'email', kind: 'plan_allowance' }
    expect(await alerts(orgId)).toEqual([
      { ...at, threshold: 80 },
      { ...at, threshold: 100 },
    ])
  })

  test('X-122 X-123 XD-27 a spend alert has the amount in USD and the channel of the send that caused it', async () => {
    const orgId = await orgWith({ plan: 'payg', spendMicros: 200_000_000 })
    await spend(orgId, { channel: 'email', units: 1, costMicros: 159_994_999 })
    expect(await events(orgId)).toEqual([])
    await spend(orgId, { channel: 'sms', units: 1, costMicros: 10_001 })
    await spend(orgId, { channel: 'email', units: 1, costMicros: 39_995_000 })
    const at = { period: month(), kind: 'spend_cap', limit: 200 }
    expect(await alertData(orgId)).toEqual([
      { ...at, channel: 'sms', threshold: 80, used: 160.01 },
      { ...at, channel: 'email', threshold: 100, used: 200 },
    ])
  })

  test('XD-27 a send that crosses both thresholds sends two alerts, 80 first, separately for plan and spend', async () => {
    const orgId = await orgWith({ sms: 10, spendMicros: 1_000_000 })
    await spend(orgId, { channel: 'sms', units: 10, costMicros: 1_000_000 })
    const sent = (await alertData(orgId)).map(({ kind, threshold }) => `${kind} ${threshold}`)
    expect(sent.filter((text) => text.startsWith('plan'))).toEqual(['plan_allowance 80', 'plan_allowance 100'])
    expect(sent.filter((text) => text.startsWith('spend'))).toEqual(['spend_cap 80', 'spend_cap 100'])
  })

  test('X-121 X-123 each channel and month has separate alerts', async () => {
    const orgId = await orgWith({ email: 5, sms: 5 })
    await spend(orgId, { channel: 'email', units: 4 })
    await spend(orgId, { channel: 'sms', units: 4 })
    const before = month()
    nextMonth()
    await spend(orgId, { channel: 'email', units: 4 })
    expect((await alertData(orgId)).map(({ channel, period }) => [channel, period])).toEqual([
      ['email', before],
      ['sms', before],
      ['email', month()],
    ])
  })

  test('no alert is sent for unlimited plans, caps of 0, refused sends, test messages or tenant quotas', async () => {
    const payg = await orgWith({ plan: 'payg' })
    await spend(payg, { channel: 'email', units: 1_000_000_000, costMicros: 900_000_000_000 })
    const closed = await orgWith({ email: 0, spendMicros: 0 })
    await expect(spend(closed, { channel: 'email', units: 1 })).rejects.toMatchObject({
      code: 'USAGE_LIMIT_EXCEEDED',
    })
    await spend(closed, { channel: 'sms', units: 1 })
    const small = await orgWith({ email: 10 })
    await expect(spend(small, { channel: 'email', units: 11 })).rejects.toMatchObject({
      code: 'USAGE_LIMIT_EXCEEDED',
    })
    await spend(small, { channel: 'email', units: 999, environment: 'test' })
    const withTenant = await t.org({ plan: 'pro' })
    const client = tenantClient(t, withTenant)
    const tenantId = await client.made()
    await client.quota(tenantId, { email_monthly: 5 })
    await spend(withTenant.org.id, { channel: 'email', units: 5, tenantId })
    for (const orgId of [payg, closed, small, withTenant.org.id]) expect(await events(orgId)).toEqual([])
  })

  test('X-125 XD-27 changing the cap within a month does not repeat an alert, and lowering it below the usage sends none', async () => {
    const orgId = await orgWith({ email: 10 })
    await spend(orgId, { channel: 'email', units: 8 })
    const contract = async (email: number) => {
      await t.database.sql('update orgs set email_monthly = $2 where id = $1', [orgId, email])
      for (const reservations of modules) reservations.forgetOrg(orgId)
    }
    await contract(20)
    await spend(orgId, { channel: 'email', units: 8 })
    expect(await thresholds(orgId)).toEqual([80])
    await contract(16)
    await spend(orgId, { channel: 'sms', units: 1 })
    expect(await thresholds(orgId)).toEqual([80])
    await contract(18)
    await spend(orgId, { channel: 'email', units: 2 })
    expect(await thresholds(orgId)).toEqual([80, 100])
  })

  test('X-125 usage that is released and reserved again does not repeat an alert', async () => {
    const orgId = await orgWith({ email: 10, spendMicros: 10 })
    for (let round = 0; round < 3; round++) {
      const held = await spend(orgId, { channel: 'email', units: 10, costMicros: 10 })
      await usage.release(held)
    }
    expect(await alertData(orgId)).toHaveLength(4)
    expect(await alerts(orgId)).toHaveLength(4)
  })

  test('X-121 X-122 XD-27 a send triggers exactly the alerts of the thresholds that it crosses', async () => {
    // Up to the largest amounts, where multiplying by 100 must not lose the last digit.
    const sizes = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 90_000_000_000_000 }))
    const cases = fc
      .record({
        cap: sizes,
        kind: fc.constantFrom('plan_allowance', 'spend_cap'),
        at: fc.integer({ min: -3, max: 3 }),
      })
      .chain(({ cap, kind, at }) => {
        // Near a threshold, or anywhere.
        const near = fc.constantFrom(0.8, 1).map((share) => Math.floor(cap * share) + at)
        const usedBefore = fc.oneof(near, fc.integer({ min: 0, max: cap }))
        const amount = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: cap }))
        return fc.record({ cap: fc.constant(cap), kind: fc.constant(kind), usedBefore, amount })
      })
    await fc.assert(
      fc.asyncProperty(cases, async ({ cap, kind, usedBefore, amount }) => {
        const before = Math.min(cap, Math.max(0, usedBefore))
        const plan = kind === 'plan_allowance'
        const orgId = await orgWith(plan ? { sms: cap } : { plan: 'payg', spendMicros: cap })
        await t.database.sql("insert into usage_counters values ($1, 'org', 'live', $2, $3, $4)", [
          orgId,
          plan ? 'sms' : 'spend',
          month(),
          before,
        ])
        const sent = spend(orgId, {
          channel: 'sms',
          ...(plan ? { units: amount } : { units: 1, costMicros: amount }),
        })
        const used = before + amount
        const passed = await sent.then(
          () => true,
          () => false,
        )
        expect(passed).toBe(used <= cap)
        const crosses = (percent: number) =>
          passed &&
          BigInt(before) * 100n < BigInt(cap) * BigInt(percent) &&
          BigInt(used) * 100n >= BigInt(cap) * BigInt(percent)
        const reported = (value: number) => (plan ? value : Math.round(value / 10_000) / 100)
        expect(await alertData(orgId)).toEqual(
          [80, 100].filter(crosses).map((threshold) => ({
            channel: 'sms',
            period: month(),
            threshold,
            kind,
            used: reported(used),
            limit: reported(cap),
          })),
        )
      }),
      { numRuns: 150 },
    )
  }, 60_000)
})

describe('concurrency', () => {
  test('X-125 concurrent sends in two processes send each alert once, with the usage that crossed the threshold', async () => {
    const orgId = await orgWith({ email: 200, spendMicros: 1_000 })
    const sends = Array.from({ length: 260 }, (_, i) =>
      spend(orgId, { channel: 'email', units: 1, costMicros: 5 }, modules[i % 2]).catch(() => undefined),
    )
    const passed = (await Promise.all(sends)).filter(Boolean)
    expect(passed).toHaveLength(200)
    const at = { channel: 'email', period: month() }
    const plan = { ...at, kind: 'plan_allowance', limit: 200 }
    const money = { ...at, kind: 'spend_cap', limit: 0 }
    const all = await alertData(orgId)
    expect(all).toHaveLength(4)
    // Reservations that are decided together cross the threshold together.
    const used = all.find(({ kind, threshold }) => kind === plan.kind && threshold === 80)?.used
    expect(used).toBeGreaterThanOrEqual(160)
    expect(used).toBeLessThanOrEqual(200)
    expect(all).toEqual(
      expect.arrayContaining([
        { ...plan, threshold: 80, used },
        { ...plan, threshold: 100, used: 200 },
        { ...money, threshold: 80, used: 0 },
        { ...money, threshold: 100, used: 0 },
      ]),
    )
    expect(await alerts(orgId)).toHaveLength(4)
  })
})

describe('atomicity', () => {
  test('X-121 X-125 the alert commits in the same transaction as the usage that caused it', async () => {
    // Checks at the end of every transaction that a counter above 80 percent has its alert.
    await t.database.sql(`create function check_alert() returns trigger language plpgsql as $$
      declare cap bigint := (select email_monthly from orgs where id = new.org_id);
      begin
        if new.subject = 'org' and new.measure = 'email' and new.used * 100 >= cap * 80 and not exists (
          select 1 from usage_alerts a join events e on e.org_id = a.org_id and e.data->>'threshold' = '80'
          where a.org_id = new.org_id and a.period = new.period and a.threshold = 80) then
          raise exception 'threshold crossed without an alert';
        end if;
        return null;
      end $$`)
    await t.database.sql(
      `create constraint trigger check_alert after update on usage_counters deferrable initially deferred
       for each row execute function check_alert()`,
    )
    onTestFinished(async () => {
      await t.database.sql('drop function check_alert cascade')
    })
    const orgId = await orgWith({ email: 50 })
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => spend(orgId, { channel: 'email', units: 1 }, modules[i % 2])),
    )
    expect(await alertData(orgId)).toHaveLength(2)
    expect((await alerts(orgId)).map(({ threshold }) => threshold)).toEqual([80, 100])
  })

  test('if the alert cannot be written the send fails, and the next one sends the alert', async () => {
    const orgId = await orgWith({ email: 10 })
    await t.database.sql(`create function no_events() returns trigger language plpgsql as
      $$ begin raise exception 'event insert failed'; end $$`)
    await t.database.sql('create trigger no_events before insert on events execute function no_events()')
    await spend(orgId, { channel: 'email', units: 7 })
    await expect(spend(orgId, { channel: 'email', units: 1 })).rejects.toThrow('event insert failed')
    await t.database.sql('drop function no_events cascade')
    const [counter] = await t.database.sql(
      "select used::int from usage_counters where org_id = $1 and subject = 'org' and measure = 'email'",
      [orgId],
    )
    expect([counter, await alerts(orgId)]).toEqual([{ used: 7 }, []])
    await spend(orgId, { channel: 'email', units: 1 })
    expect(await thresholds(orgId)).toEqual([80])
  })
})
