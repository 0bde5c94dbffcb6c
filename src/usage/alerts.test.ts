/** The alerts of 80 and 100 percent: when they come, what they say, and that none comes twice or is lost. */
import fc from 'fast-check'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { tenantClient } from '../../test/clients/tenant-client.ts'
import { startTestService } from '../../test/service/service.ts'
import type { MovableClock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import type { Plan } from '../orgs/plans.ts'
import type { Spend } from './reserve.ts'

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

/** Bare: an org is a row here, and a hundred of them are made in one test. */
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
  t.database.sql<{ data: Record<string, unknown> }>('select * from events where org_id = $1 order by created_at, id', [
    orgId,
  ])
const told = async (orgId: string) => (await events(orgId)).map(({ data }) => data)
const alerts = (orgId: string) =>
  t.database.sql('select period, channel, kind, threshold from usage_alerts where org_id = $1 order by 1, 2, 3, 4', [
    orgId,
  ])
const thresholds = async (orgId: string) => (await told(orgId)).map(({ threshold }) => threshold)

describe('when', () => {
  test('X-121 X-123 X-124 the send that reaches 80 percent of the plan, and the one that reaches 100, are told of', async () => {
    const orgId = await orgWith({ email: 10, sms: 1_000 })
    await spend(orgId, { channel: 'email', units: 7 })
    await spend(orgId, { channel: 'sms', units: 9 })
    expect(await events(orgId)).toEqual([])
    await spend(orgId, { channel: 'email', units: 1 })
    const whole = (threshold: number, used: number) => ({
      org_id: orgId,
      id: expect.stringMatching(/^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
      tenant_id: null,
      environment: null,
      event: 'usage.alert',
      data: { channel: 'email', period: month(), threshold, kind: 'plan_allowance', used, limit: 10 },
      created_at: expect.any(Date),
    })
    expect(await events(orgId)).toEqual([whole(80, 8)])
    await spend(orgId, { channel: 'email', units: 1 })
    expect(await events(orgId)).toHaveLength(1)
    await spend(orgId, { channel: 'email', units: 1 })
    expect(await events(orgId)).toEqual([whole(80, 8), whole(100, 10)])
    const at = { period: month(), channel: 'email', kind: 'plan_allowance' }
    expect(await alerts(orgId)).toEqual([
      { ...at, threshold: 80 },
      { ...at, threshold: 100 },
    ])
  })

  test('X-122 X-123 XD-27 spend is told in USD, on the channel of the send that crossed', async () => {
    const orgId = await orgWith({ plan: 'payg', spendMicros: 200_000_000 })
    await spend(orgId, { channel: 'email', units: 1, costMicros: 159_994_999 })
    expect(await events(orgId)).toEqual([])
    await spend(orgId, { channel: 'sms', units: 1, costMicros: 10_001 })
    await spend(orgId, { channel: 'email', units: 1, costMicros: 39_995_000 })
    const at = { period: month(), kind: 'spend_cap', limit: 200 }
    expect(await told(orgId)).toEqual([
      { ...at, channel: 'sms', threshold: 80, used: 160.01 },
      { ...at, channel: 'email', threshold: 100, used: 200 },
    ])
  })

  test('XD-27 one send that crosses both is told of twice, 80 first; plan and spend are told of apart', async () => {
    const orgId = await orgWith({ sms: 10, spendMicros: 1_000_000 })
    await spend(orgId, { channel: 'sms', units: 10, costMicros: 1_000_000 })
    const said = (await told(orgId)).map(({ kind, threshold }) => `${kind} ${threshold}`)
    expect(said.filter((text) => text.startsWith('plan'))).toEqual(['plan_allowance 80', 'plan_allowance 100'])
    expect(said.filter((text) => text.startsWith('spend'))).toEqual(['spend_cap 80', 'spend_cap 100'])
  })

  test('X-121 X-123 each channel and each month has its own alerts', async () => {
    const orgId = await orgWith({ email: 5, sms: 5 })
    await spend(orgId, { channel: 'email', units: 4 })
    await spend(orgId, { channel: 'sms', units: 4 })
    const before = month()
    nextMonth()
    await spend(orgId, { channel: 'email', units: 4 })
    expect((await told(orgId)).map(({ channel, period }) => [channel, period])).toEqual([
      ['email', before],
      ['sms', before],
      ['email', month()],
    ])
  })

  test('nothing is told of a plan without a quota, a cap of 0, a refused send, or test and tenant traffic', async () => {
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
    const founded = await t.org({ plan: 'pro' })
    const client = tenantClient(t, founded)
    const tenantId = await client.made()
    await client.quota(tenantId, { email_monthly: 5 })
    await spend(founded.org.id, { channel: 'email', units: 5, tenantId })
    for (const orgId of [payg, closed, small, founded.org.id]) expect(await events(orgId)).toEqual([])
  })

  test('X-125 XD-27 a cap raised within the month arms nothing again, and one lowered below the figure tells nothing', async () => {
    const orgId = await orgWith({ email: 10 })
    await spend(orgId, { channel: 'email', units: 8 })
    const contract = async (email: number) => {
      await t.database.sql('update orgs set email_monthly = $2 where id = $1', [orgId, email])
      for (const room of modules) room.forgetOrg(orgId)
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

  test('X-125 what is given back and spent again is not told of again', async () => {
    const orgId = await orgWith({ email: 10, spendMicros: 10 })
    for (let round = 0; round < 3; round++) {
      const held = await spend(orgId, { channel: 'email', units: 10, costMicros: 10 })
      await usage.release(held)
    }
    expect(await told(orgId)).toHaveLength(4)
    expect(await alerts(orgId)).toHaveLength(4)
  })

  test('X-121 X-122 XD-27 any spend tells of exactly the thresholds it takes the figure across', async () => {
    // Up to the largest figures: a product of a hundred must not lose its last digit.
    const sizes = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 90_000_000_000_000 }))
    const cases = fc
      .record({
        cap: sizes,
        kind: fc.constantFrom('plan_allowance', 'spend_cap'),
        at: fc.integer({ min: -3, max: 3 }),
      })
      .chain(({ cap, kind, at }) => {
        // Around a threshold, or anywhere.
        const near = fc.constantFrom(0.8, 1).map((share) => Math.floor(cap * share) + at)
        const stood = fc.oneof(near, fc.integer({ min: 0, max: cap }))
        const amount = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: cap }))
        return fc.record({ cap: fc.constant(cap), kind: fc.constant(kind), stood, amount })
      })
    await fc.assert(
      fc.asyncProperty(cases, async ({ cap, kind, stood: asked, amount }) => {
        const stood = Math.min(cap, Math.max(0, asked))
        const plan = kind === 'plan_allowance'
        const orgId = await orgWith(plan ? { sms: cap } : { plan: 'payg', spendMicros: cap })
        await t.database.sql("insert into usage_counters values ($1, 'org', 'live', $2, $3, $4)", [
          orgId,
          plan ? 'sms' : 'spend',
          month(),
          stood,
        ])
        const sent = spend(orgId, {
          channel: 'sms',
          ...(plan ? { units: amount } : { units: 1, costMicros: amount }),
        })
        const used = stood + amount
        const passed = await sent.then(
          () => true,
          () => false,
        )
        expect(passed).toBe(used <= cap)
        const crosses = (percent: number) =>
          passed &&
          BigInt(stood) * 100n < BigInt(cap) * BigInt(percent) &&
          BigInt(used) * 100n >= BigInt(cap) * BigInt(percent)
        const shown = (figure: number) => (plan ? figure : Math.round(figure / 10_000) / 100)
        expect(await told(orgId)).toEqual(
          [80, 100].filter(crosses).map((threshold) => ({
            channel: 'sms',
            period: month(),
            threshold,
            kind,
            used: shown(used),
            limit: shown(cap),
          })),
        )
      }),
      { numRuns: 150 },
    )
  }, 60_000)
})

describe('once', () => {
  test('X-125 of many sends at once over two processes each threshold is told of once, with the figure it was taken to', async () => {
    const orgId = await orgWith({ email: 200, spendMicros: 1_000 })
    const sends = Array.from({ length: 260 }, (_, i) =>
      spend(orgId, { channel: 'email', units: 1, costMicros: 5 }, modules[i % 2]).catch(() => undefined),
    )
    const passed = (await Promise.all(sends)).filter(Boolean)
    expect(passed).toHaveLength(200)
    const at = { channel: 'email', period: month() }
    const plan = { ...at, kind: 'plan_allowance', limit: 200 }
    const money = { ...at, kind: 'spend_cap', limit: 0 }
    const all = await told(orgId)
    expect(all).toHaveLength(4)
    // Those that are judged together cross it together.
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

describe('none lost', () => {
  test('X-121 X-125 the alert is committed with the spend that crossed: no crash can come between', async () => {
    // Looks at the end of every transaction whether a counter went past its mark without its alert.
    await t.database.sql(`create function told_of() returns trigger language plpgsql as $$
      declare cap bigint := (select email_monthly from orgs where id = new.org_id);
      begin
        if new.subject = 'org' and new.measure = 'email' and new.used * 100 >= cap * 80 and not exists (
          select 1 from usage_alerts a join events e on e.org_id = a.org_id and e.data->>'threshold' = '80'
          where a.org_id = new.org_id and a.period = new.period and a.threshold = 80) then
          raise exception 'a crossing was committed without its alert';
        end if;
        return null;
      end $$`)
    await t.database.sql(
      'create constraint trigger told_of after update on usage_counters deferrable initially deferred for each row execute function told_of()',
    )
    onTestFinished(async () => {
      await t.database.sql('drop function told_of cascade')
    })
    const orgId = await orgWith({ email: 50 })
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => spend(orgId, { channel: 'email', units: 1 }, modules[i % 2])),
    )
    expect(await told(orgId)).toHaveLength(2)
    expect((await alerts(orgId)).map(({ threshold }) => threshold)).toEqual([80, 100])
  })

  test('an alert that cannot be written takes its spend with it, and the next send is told of', async () => {
    const orgId = await orgWith({ email: 10 })
    await t.database.sql(`create function no_events() returns trigger language plpgsql as
      $$ begin raise exception 'no room for events'; end $$`)
    await t.database.sql('create trigger no_events before insert on events execute function no_events()')
    await spend(orgId, { channel: 'email', units: 7 })
    await expect(spend(orgId, { channel: 'email', units: 1 })).rejects.toThrow('no room for events')
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
