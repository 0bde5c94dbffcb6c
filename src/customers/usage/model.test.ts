/**
 * Compares concurrent reservations and releases of two processes, over several orgs, tenants, channels, days and
 * months, with a sequential model. The database records the order in which it handled them, while it has the counters
 * locked, and the model replays them in that order.
 */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { makeTestDatabase } from '../../../test/service/database.ts'
import { type Db, openDb } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeDecide } from './decide-reservations.ts'
import type { Spend } from './lines.ts'
import { makeUsage, type Reservation, type Usage } from './reserve.ts'

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
  create sequence replay_order;
  create table replay_log (place bigint primary key, keys text[], refused int[], counter text, released bigint);
  alter function reserve_usage rename to reserve_usage_unrecorded;
  create function reserve_usage(${signature}, out refused_lines int[]) language plpgsql as $$
  begin
    refused_lines := reserve_usage_unrecorded(${signature.replaceAll(/ \w+(\[\])?(?=,|$)/g, '')});
    insert into replay_log (place, keys, refused) values (nextval('replay_order'), array(
      select string_agg(distinct subjects[l.c], ' ') from unnest(line_reservation, line_counter) as l (r, c)
      where subjects[l.c] like 'key\\_%' group by l.r order by l.r), refused_lines);
  end $$;
  create function record_release() returns trigger language plpgsql as $$
  begin
    insert into replay_log (place, counter, released) values (nextval('replay_order'),
      concat_ws(' ', new.org_id, new.subject, new.environment, new.measure, new.period), old.used - new.used);
    return null;
  end $$;
  create trigger record_release after update on usage_counters for each row when (new.used < old.used)
    execute function record_release();`)

/** Moves only when the test moves it, so that the day and month of each operation are known. */
let nowMs = Date.UTC(2026, 0, 30, 12)
const clock: Clock = { millis: () => nowMs, now: () => new Date(nowMs) }

const caps = { email: 60, sms: 25, spend: 60_000, tenant: { email: 20, sms: 12 }, test: 1_000, sandbox: 100 }
type Counters = Map<string, number>
type Line = { counter: string; amount: number; cap: number | null; code: string }

/** What a send counts, in the order in which its caps are checked. Independent of the code under test. */
const linesOf = (s: Spend, at: Date): Line[] => {
  const day = at.toISOString().slice(0, 10)
  const month = day.slice(0, 7)
  const lines: Line[] = []
  const add = (subject: string, measure: string, period: string, line: Omit<Line, 'counter'>) => {
    if (line.amount === 0) return
    lines.push({ counter: [s.orgId, subject, s.environment, measure, period].join(' '), ...line })
  }
  const uncapped = (amount: number) => ({ amount, cap: null, code: '' })
  const live = s.environment === 'live'
  const { units, segments = 0, costMicros: cost = 0 } = s
  if (!live) add('org', 'messages', day, { amount: units, cap: caps.test, code: 'TEST_DAILY_LIMIT' })
  if (live) add('org', 'sandbox', day, { amount: s.sandbox ?? 0, cap: caps.sandbox, code: 'SANDBOX_DAILY_LIMIT' })
  const addTenant = () => {
    const limit = { amount: units, cap: caps.tenant[s.channel], code: 'TENANT_QUOTA_EXCEEDED' as const }
    if (s.tenantId) add(s.tenantId, s.channel, month, limit)
  }
  // the tenant comes before the plan for text messages.
  if (s.channel === 'sms') addTenant()
  add('org', s.channel, month, { amount: units, cap: live ? caps[s.channel] : null, code: 'USAGE_LIMIT_EXCEEDED' })
  if (s.channel !== 'sms') addTenant()
  if (live) add('org', 'spend', month, { amount: cost, cap: caps.spend, code: 'SPEND_CAP_EXCEEDED' })
  if (live && s.warmup) {
    const { domainId, recipients, cap } = s.warmup
    add(domainId, 'warmup', day, { amount: recipients, cap, code: 'WARMUP_LIMIT_EXCEEDED' })
  }
  add('org', 'segments', month, uncapped(segments))
  if (s.tenantId) add(s.tenantId, 'segments', month, uncapped(segments))
  add(s.keyId as string, s.channel, month, uncapped(units))
  add(s.keyId as string, 'segments', month, uncapped(segments))
  if (live) add(s.keyId as string, 'spend', month, uncapped(cost))
  return lines
}

const change = (counters: Counters, counter: string, by: number) =>
  counters.set(counter, (counters.get(counter) ?? 0) + by)

/** Counts the lines, or returns the code of the first exceeded cap and counts nothing. */
const decide = (counters: Counters, lines: Line[]): string | undefined => {
  const exceeded = lines.find(({ counter, amount, cap }) => cap !== null && (counters.get(counter) ?? 0) + amount > cap)
  if (exceeded) return exceeded.code
  for (const { counter, amount } of lines) change(counters, counter, amount)
}

type Sent = { lines: Line[]; outcome: string | undefined; reservation: Reservation | undefined; released: boolean }
type Fixture = { orgs: string[]; tenants: string[][]; domains: string[] }

const makeFixture = async (): Promise<Fixture> => {
  const orgs = [newId('org'), newId('org'), newId('org')]
  const tenants = orgs.map(() => [newId('tenant'), newId('tenant')])
  for (const [i, orgId] of orgs.entries()) {
    await database.sql(
      `insert into orgs (id, name, slug, plan, email_monthly, sms_monthly, spend_cap_micros, created_at, updated_at)
       values ($1, 'x', $1, 'free', $2, $3, $4, $5, $5)`,
      [orgId, caps.email, caps.sms, caps.spend, clock.now()],
    )
    await database.sql(
      `insert into tenants (org_id, id, slug, name, status, created_environment, email_monthly, sms_monthly,
         created_at, updated_at)
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
  | { do: 'advance'; days: number }
  | { do: 'yield' }

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 60, arbitrary: sends.map((send): Step => ({ do: 'send', send })) },
  {
    weight: 14,
    arbitrary: fc.record({ do: fc.constant('release' as const), pick: fc.nat(1_000), by: fc.nat(1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('advance' as const), days: fc.constantFrom(1, 1, 31) }),
  },
  { weight: 10, arbitrary: fc.constant<Step>({ do: 'yield' }) },
)

const spendOf = ({ orgs, tenants, domains }: Fixture, send: Send): Spend => ({
  orgId: orgs[send.org] as string,
  tenantId: send.tenant === undefined ? null : ((tenants[send.org] as string[])[send.tenant] as string),
  environment: send.test ? 'test' : 'live',
  keyId: newId('key'),
  channel: send.channel as 'email' | 'sms',
  // Large enough to reach the daily test limit too.
  units: send.test ? send.units * 100 : send.units,
  segments: send.segments,
  costMicros: send.costMicros,
  sandbox: send.sandbox,
  ...(send.warmup && {
    warmup: { domainId: domains[send.warmup.domain] as string, recipients: send.warmup.recipients, cap: 20 },
  }),
})

/** Starts each step without waiting for the previous one, then waits for all of them. */
const runScript = async (fixture: Fixture, usages: Usage[], script: Step[]): Promise<Map<string, Sent>> => {
  const sent = new Map<string, Sent>()
  const running: Promise<void>[] = []
  for (const step of script) {
    if (step.do === 'yield') await turn()
    else if (step.do === 'advance') nowMs += step.days * 86_400_000
    else if (step.do === 'send') {
      const spend = spendOf(fixture, step.send)
      const one: Sent = {
        lines: linesOf(spend, clock.now()),
        outcome: undefined,
        reservation: undefined,
        released: false,
      }
      sent.set(spend.keyId as string, one)
      const usage = usages[step.send.by] as Usage
      running.push(
        usage.reserve(spend).then(
          (reservation) => {
            one.reservation = reservation
          },
          (error) => {
            if (!(error instanceof Failure)) throw error
            one.outcome = error.code
          },
        ),
      )
    } else {
      const releasable = [...sent.values()].filter(({ reservation, released }) => reservation && !released)
      const one = releasable[step.pick % releasable.length]
      if (!one) continue
      one.released = true
      running.push((usages[step.by] as Usage).release(one.reservation as Reservation))
    }
  }
  await Promise.all(running)
  return sent
}

/** A send's result, whether the database refused it, and the code that the model expects. */
type Decision = { outcome: string | undefined; refused: boolean; expected: string | undefined }
type LogRow = { keys: string[] | null; refused: number[]; counter: string | null; released: string }

/** Replays the recorded order in the model. Adds a decision for each send, and returns the model's counters. */
const replay = (log: LogRow[], sent: Map<string, Sent>, decisions: Decision[]): Counters => {
  const counters: Counters = new Map()
  let decided = 0
  for (const { keys, refused, counter, released } of log) {
    if (counter) {
      change(counters, counter, -Number(released))
      expect(counters.get(counter)).toBeGreaterThanOrEqual(0)
      continue
    }
    for (const [i, group] of (keys as string[]).entries()) {
      const groupRefused = refused[i] !== 0
      const grouped = group.split(' ')
      // The sum exceeds a cap. The requests follow again, each on its own.
      if (groupRefused && grouped.length > 1) continue
      for (const key of grouped) {
        const { lines, outcome } = sent.get(key) as Sent
        decisions.push({ outcome, refused: groupRefused, expected: decide(counters, lines) })
        decided++
      }
    }
  }
  expect(decided).toBe(sent.size)
  return counters
}

const nonZero = (counters: Counters) => Object.fromEntries([...counters].filter(([, used]) => used !== 0).sort())

describe('concurrent sends', () => {
  const decisions: Decision[] = []
  /** Per run: the stored counters, the counters of the model, and the sum of what was reserved and not released. */
  const totals: { stored: Counters; replayed: Counters; reserved: Counters }[] = []

  const run = async (script: Step[]) => {
    await database.sql('truncate replay_log; truncate usage_counters; delete from orgs')
    const fixture = await makeFixture()
    const usages = pools.map((db) => makeUsage({ db, clock, log: silentLog(), trusted: () => true }))
    const sent = await runScript(fixture, usages, script)
    const log = await database.sql<LogRow>('select keys, refused, counter, released from replay_log order by place')
    const replayed = replay(log, sent, decisions)
    const reserved: Counters = new Map()
    for (const { lines, reservation, released } of sent.values()) {
      if (reservation && !released) for (const { counter, amount } of lines) change(reserved, counter, amount)
    }
    const rows = await database.sql<{ counter: string; used: string }>(
      `select concat_ws(' ', org_id, subject, environment, measure, period) as counter, used from usage_counters`,
    )
    totals.push({ stored: new Map(rows.map(({ counter, used }) => [counter, Number(used)])), replayed, reserved })
  }

  beforeAll(async () => {
    const scripts = fc.array(steps, { minLength: 250, maxLength: 400, size: 'max' })
    await fc.assert(fc.asyncProperty(scripts, run), { numRuns: 25, endOnFailure: true })
  }, 120_000)

  const expectAsInModel = (code: string | undefined) => {
    const concerned = decisions.filter(({ outcome, expected }) => outcome === code || expected === code)
    expect(concerned.length).toBeGreaterThan(0)
    for (const { outcome, refused, expected } of concerned) {
      expect([outcome, refused]).toEqual([expected, expected !== undefined])
    }
  }

  test('X-276 X-305 exceed the plan quota exactly when the model does', () => expectAsInModel('USAGE_LIMIT_EXCEEDED'))
  test('X-277 X-306 exceed a tenant quota exactly when the model does', () => expectAsInModel('TENANT_QUOTA_EXCEEDED'))
  test('X-278 X-307 exceed the spend cap exactly when the model does', () => expectAsInModel('SPEND_CAP_EXCEEDED'))
  test('X-281 exceed a warmup cap exactly when the model does', () => expectAsInModel('WARMUP_LIMIT_EXCEEDED'))
  test('X-282 exceed the sandbox limit exactly when the model does', () => expectAsInModel('SANDBOX_DAILY_LIMIT'))
  test('exceed the daily test limit exactly when the model does', () => expectAsInModel('TEST_DAILY_LIMIT'))

  test('X-276 X-277 X-278 are accepted if they exceed no cap', () => {
    expectAsInModel(undefined)
    const codes = new Set(decisions.flatMap(({ outcome }) => outcome ?? []))
    expect([...codes].sort()).toEqual([
      'SANDBOX_DAILY_LIMIT',
      'SPEND_CAP_EXCEEDED',
      'TENANT_QUOTA_EXCEEDED',
      'TEST_DAILY_LIMIT',
      'USAGE_LIMIT_EXCEEDED',
      'WARMUP_LIMIT_EXCEEDED',
    ])
  })

  test('X-305 X-306 X-307 leave every counter at the sum of what was reserved and not released', () => {
    expect(totals).toHaveLength(25)
    for (const { stored, replayed, reserved } of totals) {
      expect(nonZero(stored)).toEqual(nonZero(reserved))
      expect(nonZero(replayed)).toEqual(nonZero(reserved))
    }
  })
})

test('if deciding requests separately fails, only those requests fail and earlier ones stay counted', async () => {
  const { orgs } = await makeFixture()
  const [within, over] = orgs as [string, string]
  const db = pools[0] as Db
  let statements = 0
  const row: Db['row'] = (statement, ...params) =>
    statement.name === 'usage.reserve' && ++statements === 2
      ? Promise.reject(Object.assign(new Error('statement failed'), { code: '40001' }))
      : db.row(statement, ...params)
  const usage = makeUsage({ db: { ...db, row }, clock, log: silentLog(), trusted: () => true })
  const spend = (orgId: string, units: number): Spend => ({
    orgId,
    tenantId: null,
    environment: 'live',
    keyId: newId('key'),
    channel: 'email',
    units,
  })
  // Cached first, so that all three requests share one statement.
  for (const orgId of [within, over]) await usage.allowanceOf(orgId, null)
  const outcomes = await Promise.allSettled([
    usage.reserve(spend(within, 1)),
    usage.reserve(spend(over, caps.email - 1)),
    usage.reserve(spend(over, caps.email - 1)),
  ])
  expect(outcomes.map((one) => (one.status === 'rejected' ? one.reason.message : one.status))).toEqual([
    'fulfilled',
    'statement failed',
    'statement failed',
  ])
  expect(statements).toBe(2)
  const counted = await database.sql(
    `select org_id, used::int from usage_counters where org_id = any($1) and subject = 'org' and used > 0`,
    [[within, over]],
  )
  expect(counted).toEqual([{ org_id: within, used: 1 }])
})

test('reservations and releases lock counters in the same order', async () => {
  const { orgs, tenants } = await makeFixture()
  const [orgId, tenantId] = [orgs[0] as string, (tenants[0] as string[])[0] as string]
  const usage = makeUsage({ db: pools[0] as Db, clock, log: silentLog(), trusted: () => true })
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
  const reservation = await usage.reserve(spend)
  const order = linesOf(spend, clock.now())
    .map(({ counter }) => counter)
    .sort()
  const name = "concat_ws(' ', org_id, subject, environment, measure, period)"
  const waiting = () =>
    database.sql("select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
  const blocker = await (pools[1] as Db).connect()
  for (const work of [() => usage.reserve(spend), () => usage.release(reservation)]) {
    // A statement that waits for a counter has locked the counters before it and none after it.
    for (const place of [0, 4, order.length - 1]) {
      await blocker.query('begin')
      await blocker.query(`select 1 from usage_counters where ${name} = $1 for update`, [order[place]])
      const working = work()
      await expect.poll(waiting).toHaveLength(1)
      const unlocked = await database.sql<{ name: string }>(
        `select ${name} as name from usage_counters where org_id = $1 for update skip locked`,
        [orgId],
      )
      expect(unlocked.map((row) => row.name).sort()).toEqual(order.slice(place + 1))
      await blocker.query('rollback')
      await working
    }
  }
  await blocker.end()
})

test('X-305 concurrent reservations of one message by two processes count once, and only the last claim releases them', async () => {
  const { orgs } = await makeFixture()
  const [orgId] = orgs as [string]
  const usages = pools.map((db) => makeUsage({ db, clock, log: silentLog(), trusted: () => true }))
  const spend: Spend = { orgId, tenantId: null, environment: 'live', keyId: null, channel: 'email', units: 1 }
  const used = async () =>
    (
      await database.sql<{ used: number }>(
        "select used::int from usage_counters where org_id = $1 and subject = 'org' and measure = 'email'",
        [orgId],
      )
    )[0]?.used
  const ids = Array.from({ length: 20 }, () => newId('message'))
  const reserved = await Promise.all(
    ids.flatMap((id) =>
      usages.flatMap((usage, i) => [1, 2].map((n) => usage.reserve(spend, { id, claim: `claim ${i} ${n} ${id}` }))),
    ),
  )
  expect([reserved.length, await used()]).toEqual([80, 20])
  // Releasing all claims, twice, releases each message once.
  for (let pass = 0; pass < 2; pass++) {
    await Promise.all(reserved.map((reservation, i) => (usages[i % 2] as Usage).release(reservation)))
    expect(await used()).toBe(0)
  }
  expect(await database.sql('select id from usage_reservations')).toEqual([])
})

describe('X-305 two claims of one message that are decided together', () => {
  const decide = makeDecide({ db: pools[0] as Db, clock })
  const startOrg = async () => {
    const { orgs } = await makeFixture()
    const [orgId] = orgs as [string]
    const spend: Spend = { orgId, tenantId: null, environment: 'live', keyId: null, channel: 'email', units: 1 }
    const usage = makeUsage({ db: pools[0] as Db, clock, log: silentLog(), trusted: () => true })
    const { lines } = await usage.prepare(spend)
    return {
      orgId,
      requestOf: (id: string, claim: string) => ({
        orgId,
        channel: 'email' as const,
        lines,
        hold: { id, claim, at: clock.now(), parts: {} },
        recipients: { tenantId: null, values: ['ann@reader.test'], broadcast: false },
      }),
      stored: () => database.sql('select id, claim from usage_reservations where org_id = $1 order by claim', [orgId]),
      used: () =>
        database.sql(
          "select used::int from usage_counters where org_id = $1 and subject = 'org' and measure = 'email' and used > 0",
          [orgId],
        ),
    }
  }
  afterEach(() => database.sql('delete from usage_reservations'))

  test('share its reservation', async () => {
    const { requestOf, stored, used } = await startOrg()
    const [earlier, message] = [newId('message'), newId('message')]
    expect(await decide([requestOf(earlier, 'a')])).toEqual([{}])
    // The first statement finds only the earlier reservation, so the others are decided by further ones.
    const decisions = await decide([requestOf(earlier, 'b'), requestOf(message, 'c'), requestOf(message, 'd')])
    const held = { held: { at: clock.now(), parts: {} } }
    expect(decisions).toEqual([held, {}, held])
    expect(await stored()).toEqual([
      { id: earlier, claim: 'b' },
      { id: message, claim: 'd' },
    ])
    expect(await used()).toEqual([{ used: 2 }])
  })

  test('are both told of a suppressed recipient', async () => {
    const { orgId, requestOf, stored, used } = await startOrg()
    await database.sql(
      `insert into suppressions (org_id, id, channel, value, reason, source, created_environment, created_at, updated_at)
       values ($1, 'sup_x', 'email', 'ann@reader.test', 'bounce', 'api', 'live', $2, $2)`,
      [orgId, clock.now()],
    )
    const message = newId('message')
    const suppressed = { suppressed: new Set(['ann@reader.test']) }
    expect(await decide([requestOf(message, 'a'), requestOf(message, 'b')])).toEqual([suppressed, suppressed])
    expect([await stored(), await used()]).toEqual([[], []])
  })
})

test('concurrent reservations and releases never deadlock', async () => {
  const fixture = await makeFixture()
  const usages = pools.map((db) => makeUsage({ db, clock, log: silentLog(), trusted: () => true }))
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
      const reservation = await usage.reserve({
        orgId: fixture.orgs[n % 3] as string,
        tenantId: null,
        environment: 'live',
        keyId: `key_${n % 5}`,
        channel: n % 2 ? 'email' : 'sms',
        units: 1,
        segments: 1,
        costMicros: 1,
      })
      await usage.release(reservation)
    }
  }
  await Promise.all(Array.from({ length: 16 }, (_, i) => sender(i)))
  // PostgreSQL reports a session's statistics when it ends.
  for (const pool of pools) await pool.close()
  pools.length = 0
  expect(await deadlocks()).toBe(before)
  expect(
    await database.sql('select 1 from usage_counters where org_id = any($1) and used > 0', [fixture.orgs]),
  ).toEqual([])
}, 60_000)
