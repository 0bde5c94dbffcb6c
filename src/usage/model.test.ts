/**
 * Reservations and releases from two processes at once, over orgs, tenants, channels, days and months, against a
 * model that knows no concurrency. The database keeps a tape of the order in which it served them, written while it
 * holds the counters concerned, so that the model can be led through the very same order.
 */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { makeTestDatabase } from '../../test/service/database.ts'
import { type Db, openDb } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import { silentLog } from '../ground/log.ts'
import { makeUsage, type Reservation, type Spend, type Usage } from './reserve.ts'

const database = await makeTestDatabase()
const pools = [0, 1].map(() => openDb({ url: database.url, log: silentLog(), poolSize: 6 }))
afterAll(async () => {
  for (const pool of pools) await pool.close()
  await database.drop()
})

const signature = `orgs text[], subjects text[], environments text[], measures text[], periods text[],
  line_reservation int[], line_counter int[], amounts bigint[], caps bigint[], alert_kinds text[], alert_ids text[],
  channels text[], at timestamptz`
await database.sql(`
  create sequence tape_order;
  create table tape (place bigint primary key, keys text[], refused int[], counter text, given bigint);
  alter function reserve_usage rename to reserve_usage_untaped;
  create function reserve_usage(${signature}, out refused_lines int[]) language plpgsql as $$
  begin
    refused_lines := reserve_usage_untaped(${signature.replaceAll(/ \w+(\[\])?(?=,|$)/g, '')});
    insert into tape (place, keys, refused) values (nextval('tape_order'), array(
      select string_agg(distinct subjects[l.c], ' ') from unnest(line_reservation, line_counter) as l (r, c)
      where subjects[l.c] like 'key\\_%' group by l.r order by l.r), refused_lines);
  end $$;
  create function tape_release() returns trigger language plpgsql as $$
  begin
    insert into tape (place, counter, given) values (nextval('tape_order'),
      concat_ws(' ', new.org_id, new.subject, new.environment, new.measure, new.period), old.used - new.used);
    return null;
  end $$;
  create trigger tape_release after update on usage_counters for each row when (new.used < old.used)
    execute function tape_release();`)

/** Stands still but when it is moved: an operation's month is known to the millisecond. */
let nowMs = Date.UTC(2026, 0, 30, 12)
const clock: Clock = { millis: () => nowMs, now: () => new Date(nowMs) }

const caps = { email: 60, sms: 25, spend: 60_000, tenant: { email: 20, sms: 12 }, test: 1_000, sandbox: 100 }
type Counters = Map<string, number>
type Line = { counter: string; amount: number; cap: number | null; code: string }

/** What the rules say a send spends, in the order its caps are judged; written apart from the code under test. */
const linesOf = (s: Spend, at: Date): Line[] => {
  const [month, day] = [at.toISOString().slice(0, 7), at.toISOString().slice(0, 10)]
  const lines: Line[] = []
  const add = (subject: string, measure: string, period: string, amount: number, cap: number | null, code = '') => {
    if (amount > 0)
      lines.push({ counter: [s.orgId, subject, s.environment, measure, period].join(' '), amount, cap, code })
  }
  const live = s.environment === 'live'
  if (!live) add('org', 'messages', day, s.units, caps.test, 'TEST_DAILY_LIMIT')
  if (live) add('org', 'sandbox', day, s.sandbox ?? 0, caps.sandbox, 'SANDBOX_DAILY_LIMIT')
  add('org', s.channel, month, s.units, live ? caps[s.channel] : null, 'USAGE_LIMIT_EXCEEDED')
  if (s.tenantId) add(s.tenantId, s.channel, month, s.units, caps.tenant[s.channel], 'TENANT_QUOTA_EXCEEDED')
  if (live) add('org', 'spend', month, s.costMicros ?? 0, caps.spend, 'SPEND_CAP_EXCEEDED')
  if (live && s.warmup) {
    add(s.warmup.domainId, 'warmup', day, s.warmup.recipients, s.warmup.cap, 'WARMUP_LIMIT_EXCEEDED')
  }
  add('org', 'segments', month, s.segments ?? 0, null)
  if (s.tenantId) add(s.tenantId, 'segments', month, s.segments ?? 0, null)
  add(s.keyId as string, s.channel, month, s.units, null)
  add(s.keyId as string, 'segments', month, s.segments ?? 0, null)
  if (live) add(s.keyId as string, 'spend', month, s.costMicros ?? 0, null)
  return lines
}

const change = (counters: Counters, counter: string, by: number) =>
  counters.set(counter, (counters.get(counter) ?? 0) + by)

/** Spends and says nothing, or spends nothing and says which cap refuses. */
const judge = (counters: Counters, lines: Line[]): string | undefined => {
  const refusing = lines.find(({ counter, amount, cap }) => cap !== null && (counters.get(counter) ?? 0) + amount > cap)
  if (refusing) return refusing.code
  for (const { counter, amount } of lines) change(counters, counter, amount)
}

type Sent = { lines: Line[]; outcome: string | undefined; held: Reservation | undefined; given: boolean }
type World = { orgs: string[]; tenants: string[][]; domains: string[] }

const makeWorld = async (): Promise<World> => {
  const orgs = [newId('org'), newId('org'), newId('org')]
  const tenants = orgs.map(() => [newId('tenant'), newId('tenant')])
  for (const [i, orgId] of orgs.entries()) {
    await database.sql(
      `insert into orgs (id, name, slug, plan, email_monthly, sms_monthly, spend_cap_micros, created_at, updated_at)
       values ($1, 'x', $1, 'free', $2, $3, $4, $5, $5)`,
      [orgId, caps.email, caps.sms, caps.spend, clock.now()],
    )
    await database.sql(
      `insert into tenants (org_id, id, slug, name, status, created_environment, email_monthly, sms_monthly, created_at, updated_at)
       select $1, id, id, id, 'active', 'live', $3, $4, $5, $5 from unnest($2::text[]) as t (id)`,
      [orgId, tenants[i], caps.tenant.email, caps.tenant.sms, clock.now()],
    )
  }
  return { orgs, tenants, domains: [newId('domain'), newId('domain')] }
}

const sends = fc.record({
  org: fc.nat(2),
  tenant: fc.option(fc.nat(1), { nil: undefined }),
  test: fc.nat(4).map((n) => n === 0),
  channel: fc.constantFrom('email', 'sms'),
  units: fc.integer({ min: 1, max: 6 }),
  segments: fc.nat(3),
  costMicros: fc.constantFrom(0, 0, 900, 7_500),
  sandbox: fc.constantFrom(0, 0, 0, 25),
  warmup: fc.option(fc.record({ domain: fc.nat(1), recipients: fc.integer({ min: 1, max: 6 }) }), {
    nil: undefined,
  }),
  by: fc.nat(1),
})
type Send = typeof sends extends fc.Arbitrary<infer S> ? S : never

type Step =
  | { do: 'send'; send: Send }
  | { do: 'release'; pick: number; by: number }
  | { do: 'jump'; days: number }
  | { do: 'breathe' }

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 60, arbitrary: sends.map((send): Step => ({ do: 'send', send })) },
  {
    weight: 14,
    arbitrary: fc.record({ do: fc.constant('release' as const), pick: fc.nat(1_000), by: fc.nat(1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('jump' as const), days: fc.constantFrom(1, 1, 31) }),
  },
  { weight: 10, arbitrary: fc.constant<Step>({ do: 'breathe' }) },
)

const spendOf = ({ orgs, tenants, domains }: World, send: Send): Spend => ({
  orgId: orgs[send.org] as string,
  tenantId: send.tenant === undefined ? null : ((tenants[send.org] as string[])[send.tenant] as string),
  environment: send.test ? 'test' : 'live',
  keyId: newId('key'),
  channel: send.channel as 'email' | 'sms',
  // Large enough for the test allowance to be met too.
  units: send.test ? send.units * 100 : send.units,
  segments: send.segments,
  costMicros: send.costMicros,
  sandbox: send.sandbox,
  ...(send.warmup && {
    warmup: { domainId: domains[send.warmup.domain] as string, recipients: send.warmup.recipients, cap: 20 },
  }),
})

/** Starts every step without waiting for the one before; ends when all of them have. */
const drive = async (world: World, usages: Usage[], script: Step[]): Promise<Map<string, Sent>> => {
  const sent = new Map<string, Sent>()
  const underWay: Promise<void>[] = []
  for (const step of script) {
    if (step.do === 'breathe') await turn()
    else if (step.do === 'jump') nowMs += step.days * 86_400_000
    else if (step.do === 'send') {
      const spend = spendOf(world, step.send)
      const one: Sent = {
        lines: linesOf(spend, clock.now()),
        outcome: undefined,
        held: undefined,
        given: false,
      }
      sent.set(spend.keyId as string, one)
      const usage = usages[step.send.by] as Usage
      underWay.push(
        usage.reserve(spend).then(
          (held) => {
            one.held = held
          },
          (error) => {
            if (!(error instanceof Failure)) throw error
            one.outcome = error.code
          },
        ),
      )
    } else {
      const free = [...sent.values()].filter(({ held, given }) => held && !given)
      const one = free[step.pick % free.length]
      if (!one) continue
      one.given = true
      underWay.push((usages[step.by] as Usage).release(one.held as Reservation))
    }
  }
  await Promise.all(underWay)
  return sent
}

/** Leads the model through the tape; every answer on it and every answer a sender got must be the model's. */
const replay = (tape: Record<string, unknown>[], sent: Map<string, Sent>): Counters => {
  const counters: Counters = new Map()
  let served = 0
  for (const { keys, refused, counter, given } of tape) {
    if (counter) {
      change(counters, counter as string, -Number(given))
      expect(counters.get(counter as string)).toBeGreaterThanOrEqual(0)
      continue
    }
    for (const [i, group] of (keys as string[]).entries()) {
      const held = (refused as number[])[i] !== 0
      const together = group.split(' ')
      // Too much as one: they come again, each by itself.
      if (held && together.length > 1) continue
      for (const key of together) {
        const { lines, outcome } = sent.get(key) as Sent
        const meant = judge(counters, lines)
        expect([key, outcome, held]).toEqual([key, meant, meant !== undefined])
        served++
      }
    }
  }
  expect(served).toBe(sent.size)
  return counters
}

const nonZero = (counters: Counters) => Object.fromEntries([...counters].filter(([, used]) => used !== 0).sort())

let refusals = new Map<string, number>()

test('X-276 X-277 X-278 X-281 X-282 X-305 X-306 X-307 no cap is passed, no send is refused early and no unit is lost', async () => {
  refusals = new Map()
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 250, maxLength: 400, size: 'max' }), async (script) => {
      await database.sql('truncate tape; truncate usage_counters; delete from orgs')
      const world = await makeWorld()
      const usages = pools.map((db) => makeUsage({ db, clock, trusted: () => true }))
      const sent = await drive(world, usages, script)

      const tape = await database.sql('select * from tape order by place')
      const replayed = replay(tape, sent)
      const counted: Counters = new Map()
      for (const { lines, held, given, outcome } of sent.values()) {
        if (outcome) refusals.set(outcome, (refusals.get(outcome) ?? 0) + 1)
        if (held && !given) for (const { counter, amount } of lines) change(counted, counter, amount)
      }
      const rows = await database.sql<{ counter: string; used: string }>(
        `select concat_ws(' ', org_id, subject, environment, measure, period) as counter, used from usage_counters`,
      )
      const stored: Counters = new Map(rows.map(({ counter, used }) => [counter, Number(used)]))
      expect(nonZero(stored)).toEqual(nonZero(counted))
      expect(nonZero(replayed)).toEqual(nonZero(counted))
    }),
    { numRuns: 25, endOnFailure: true },
  )
  // Every cap had its say, or the scripts prove less than they claim.
  expect([...refusals.keys()].sort()).toEqual([
    'SANDBOX_DAILY_LIMIT',
    'SPEND_CAP_EXCEEDED',
    'TENANT_QUOTA_EXCEEDED',
    'TEST_DAILY_LIMIT',
    'USAGE_LIMIT_EXCEEDED',
    'WARMUP_LIMIT_EXCEEDED',
  ])
}, 120_000)

test('where the second look fails, what was counted is counted once, and only those it was for fail', async () => {
  const { orgs } = await makeWorld()
  const [calm, pressed] = orgs as [string, string]
  const db = pools[0] as Db
  let asked = 0
  const row: Db['row'] = (statement, ...params) =>
    statement.name === 'usage.reserve' && ++asked === 2
      ? Promise.reject(Object.assign(new Error('not now'), { code: '40001' }))
      : db.row(statement, ...params)
  const usage = makeUsage({ db: { ...db, row }, clock, trusted: () => true })
  const spend = (orgId: string, units: number): Spend => ({
    orgId,
    tenantId: null,
    environment: 'live',
    keyId: newId('key'),
    channel: 'email',
    units,
  })
  // Known beforehand, so that all three come to one statement.
  for (const orgId of [calm, pressed]) await usage.allowanceOf(orgId, null)
  const outcomes = await Promise.allSettled([
    usage.reserve(spend(calm, 1)),
    usage.reserve(spend(pressed, caps.email - 1)),
    usage.reserve(spend(pressed, caps.email - 1)),
  ])
  expect(outcomes.map((one) => (one.status === 'rejected' ? one.reason.message : one.status))).toEqual([
    'fulfilled',
    'not now',
    'not now',
  ])
  expect(asked).toBe(2)
  const counted = await database.sql(
    `select org_id, used::int from usage_counters where org_id = any($1) and subject = 'org' and used > 0`,
    [[calm, pressed]],
  )
  expect(counted).toEqual([{ org_id: calm, used: 1 }])
})

test('spending and giving back lock their counters in one order', async () => {
  const { orgs, tenants } = await makeWorld()
  const [orgId, tenantId] = [orgs[0] as string, (tenants[0] as string[])[0] as string]
  const usage = makeUsage({ db: pools[0] as Db, clock, trusted: () => true })
  const spend: Spend = {
    orgId,
    tenantId,
    environment: 'live',
    keyId: newId('key'),
    channel: 'sms',
    units: 1,
    segments: 1,
    costMicros: 1,
    sandbox: 1,
    warmup: { domainId: newId('domain'), recipients: 1, cap: 20 },
  }
  const held = await usage.reserve(spend)
  const order = linesOf(spend, clock.now())
    .map(({ counter }) => counter)
    .sort()
  const name = "concat_ws(' ', org_id, subject, environment, measure, period)"
  const waiting = () =>
    database.sql("select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
  const blocker = await (pools[1] as Db).connect()
  for (const work of [() => usage.reserve(spend), () => usage.release(held)]) {
    // Whoever waits for one counter in the middle holds those before it and none after.
    for (const place of [0, 4, order.length - 1]) {
      await blocker.query('begin')
      await blocker.query(`select 1 from usage_counters where ${name} = $1 for update`, [order[place]])
      const working = work()
      await expect.poll(waiting).toHaveLength(1)
      const free = await database.sql<{ name: string }>(
        `select ${name} as name from usage_counters where org_id = $1 for update skip locked`,
        [orgId],
      )
      expect(free.map((row) => row.name).sort()).toEqual(order.slice(place + 1))
      await blocker.query('rollback')
      await working
    }
  }
  await blocker.end()
})

test('spending and giving back at once never wait for each other in a circle', async () => {
  const world = await makeWorld()
  const usages = pools.map((db) => makeUsage({ db, clock, trusted: () => true }))
  const deadlocks = async () => {
    const [row] = await database.sql<{ n: string }>(
      'select deadlocks as n from pg_stat_database where datname = current_database()',
    )
    return Number(row?.n)
  }
  const before = await deadlocks()
  const sender = async (i: number): Promise<void> => {
    const usage = usages[i % 2] as Usage
    for (let n = 0; n < 25; n++) {
      const held = await usage.reserve({
        orgId: world.orgs[n % 3] as string,
        tenantId: null,
        environment: 'live',
        keyId: `key_${n % 5}`,
        channel: n % 2 ? 'email' : 'sms',
        units: 1,
        segments: 1,
        costMicros: 1,
      })
      await usage.release(held)
    }
  }
  await Promise.all(Array.from({ length: 16 }, (_, i) => sender(i)))
  // Sessions hand their figures in when they come to rest.
  for (const pool of pools) await pool.close()
  pools.length = 0
  expect(await deadlocks()).toBe(before)
  expect(await database.sql('select 1 from usage_counters where org_id = any($1) and used > 0', [world.orgs])).toEqual(
    [],
  )
}, 60_000)
