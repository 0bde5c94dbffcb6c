/** One reservation before the provider is called: every cap a send spends, all of them or none. */
import { makeBatcher, makeStepBatcher } from '../db/batch.ts'
import type { Db } from '../db/pool.ts'
import { makeShortCache } from '../db/short-cache.ts'
import type { Channel } from '../ground/channel.ts'
import type { Clock } from '../ground/clock.ts'
import { type Code, Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { MaybePromise } from '../ground/maybe-promise.ts'
import type { Environment } from '../ground/scope.ts'
import { dayOf, monthOf, secondsToNextDay, secondsToNextMonth } from './periods.ts'
import { monthlyQuota, sandboxDaily, testDaily } from './plan-limits.ts'
import { type AllowanceRow, findAllowance, readNamedCounters, releaseUsage, reserveUsage } from './store.ts'

export type Spend = {
  orgId: string
  tenantId: string | null
  environment: Environment
  /** Null for traffic of no key, such as a dashboard test send. */
  keyId: string | null
  channel: Channel
  /** Recipients of email, messages of SMS. */
  units: number
  segments?: number
  costMicros?: number
  /** Recipients through the sandbox sender. */
  sandbox?: number
  warmup?: { domainId: string; recipients: number; cap: number }
}

type Counter = { orgId: string; subject: string; environment: Environment; measure: string; period: string }
type Line = Counter & {
  amount: number
  cap: number | null
  refusal: Code
  /** Whose thresholds are told of, where there is a cap. */
  alert?: 'plan_allowance' | 'spend_cap'
}

/** What was spent, to be given back when nothing was handed over. */
export type Reservation = { lines: Line[]; at: Date; allowance: Allowance }

export type Allowance = {
  plan: AllowanceRow['plan']
  quota: Record<Channel, number | null>
  tenantQuota: Record<Channel, number | null>
  spendCapMicros: number | null
}

export interface Usage {
  /** Spends, or throws the code of the first cap that refuses. */
  reserve(spend: Spend): Promise<Reservation>
  /** Throws as a reservation would, and spends nothing. */
  check(spend: Spend): Promise<void>
  release(reservation: Reservation): Promise<void>
  /** Gives back a part, counted in the periods of the reservation. */
  releasePart(reservation: Reservation, part: Spend): Promise<void>
  allowanceOf(orgId: string, tenantId: string | null): MaybePromise<Allowance>
  forgetOrg(orgId: string): void
  forgetAll(): void
}

const allowanceFrom = (row: AllowanceRow): Allowance => ({
  plan: row.plan,
  quota: {
    email: row.email_monthly ?? monthlyQuota[row.plan].email,
    sms: row.sms_monthly ?? monthlyQuota[row.plan].sms,
  },
  tenantQuota: { email: row.tenant_email_monthly, sms: row.tenant_sms_monthly },
  spendCapMicros: row.spend_cap_micros,
})

/** The lines in the order their caps are judged: sandbox, plan, tenant, spend, warmup; then figures without a cap. */
export const linesOf = (spend: Spend, allowance: Allowance, at: Date): Line[] => {
  const { orgId, tenantId, environment, channel, units, segments = 0, costMicros = 0 } = spend
  const live = environment === 'live'
  const [month, day] = [monthOf(at), dayOf(at)]
  const line = (
    subject: string,
    measure: string,
    period: string,
    amount: number,
    cap: number | null,
    refusal: Code,
  ): Line => ({ orgId, subject, environment, measure, period, amount, cap, refusal })
  const lines: Line[] = []
  if (!live) lines.push(line('org', 'messages', day, units, testDaily[allowance.plan], 'TEST_DAILY_LIMIT'))
  if (live && spend.sandbox) lines.push(line('org', 'sandbox', day, spend.sandbox, sandboxDaily, 'SANDBOX_DAILY_LIMIT'))
  lines.push({
    ...line('org', channel, month, units, live ? allowance.quota[channel] : null, 'USAGE_LIMIT_EXCEEDED'),
    alert: 'plan_allowance',
  })
  if (tenantId !== null) {
    lines.push(line(tenantId, channel, month, units, allowance.tenantQuota[channel], 'TENANT_QUOTA_EXCEEDED'))
  }
  if (live && costMicros > 0) {
    lines.push({
      ...line('org', 'spend', month, costMicros, allowance.spendCapMicros, 'SPEND_CAP_EXCEEDED'),
      alert: 'spend_cap',
    })
  }
  if (live && spend.warmup) {
    const { domainId, recipients, cap } = spend.warmup
    lines.push(line(domainId, 'warmup', day, recipients, cap, 'WARMUP_LIMIT_EXCEEDED'))
  }
  const keySubject = spend.keyId ?? 'no_key'
  const figure = (subject: string, measure: string, amount: number) => {
    if (amount > 0) lines.push(line(subject, measure, month, amount, null, 'INTERNAL_ERROR'))
  }
  figure('org', 'segments', segments)
  if (tenantId !== null) figure(tenantId, 'segments', segments)
  figure(keySubject, channel, units)
  figure(keySubject, 'segments', segments)
  if (live) figure(keySubject, 'spend', costMicros)
  return lines.filter(({ amount }) => amount > 0)
}

const refuse = (code: Code, at: Date): Failure => {
  if (code === 'SANDBOX_DAILY_LIMIT' || code === 'SPEND_CAP_EXCEEDED') return new Failure(code)
  const daily = code === 'TEST_DAILY_LIMIT' || code === 'WARMUP_LIMIT_EXCEEDED'
  return new Failure(code, { retryAfter: daily ? secondsToNextDay(at) : secondsToNextMonth(at) })
}

const nameOf = (c: Counter): string => `${c.orgId} ${c.subject} ${c.environment} ${c.measure} ${c.period}`

/** Each counter of the lines once, in one order for every caller, so that no two statements wait in a circle. */
const countersOf = <C extends Counter>(lines: C[]): { names: string[]; counters: C[] } => {
  const byName = new Map(lines.map((line) => [nameOf(line), line]))
  const names = [...byName.keys()].sort()
  return { names, counters: names.map((name) => byName.get(name) as C) }
}

type Asked = { orgId: string; channel: Channel; lines: Line[] }

const lower = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** What may be judged at once, and what it is made of. */
type Group = { sum: Asked; of: Asked[] }

/** Of one org. */
const sameCounter = (a: Counter, b: Counter): boolean =>
  a.subject === b.subject && a.measure === b.measure && a.environment === b.environment && a.period === b.period

/** What several of one org spend of each counter, under the lowest of their caps. */
const sumOf = (asked: Asked[]): Line[] => {
  const sums: Line[] = []
  const byName = new Map<string, Line>()
  for (const { lines } of asked) {
    for (const [place, line] of lines.entries()) {
      // Most spend of the same counters in the same order; a name is made only for the others.
      const likely = sums[place]
      const name = likely && sameCounter(likely, line) ? undefined : nameOf(line)
      const sum = name === undefined ? likely : byName.get(name)
      if (sum) {
        sum.amount += line.amount
        sum.cap = lower(sum.cap, line.cap)
      } else {
        const first = { ...line }
        sums.push(first)
        byName.set(nameOf(line), first)
      }
    }
  }
  return sums
}

/** All of an org as one, save where they are of two channels: an alert names the one that caused it. */
const together = (asked: Asked[]): Group[] => {
  const [first] = asked as [Asked, ...Asked[]]
  if (asked.length === 1 || asked.some(({ channel }) => channel !== first.channel))
    return asked.map((one) => ({ sum: one, of: [one] }))
  return [{ sum: { ...first, lines: sumOf(asked) }, of: asked }]
}

/** Which line refused, if one did, or why nobody knows. */
type Judged = { refusedBy?: number | undefined; failed?: unknown }

type Needs = { db: Db; clock: Clock; trusted: () => boolean }

export const makeUsage = ({ db, clock, trusted }: Needs): Usage => {
  const copies = makeShortCache<Allowance>({ trusted })

  const allowanceOf = (orgId: string, tenantId: string | null): MaybePromise<Allowance> =>
    copies.through(tenantId === null ? orgId : `${orgId} ${tenantId}`, orgId, async () => {
      const row = await db.row(findAllowance, { orgId, tenantId })
      if (!row) throw new Error(`usage of an org that is not there: ${orgId}`)
      return allowanceFrom(row)
    })

  /** Each whole, in the order given. */
  const judgeEach = async (asked: Asked[]): Promise<Judged[]> => {
    const flat = asked.flatMap(({ lines }) => lines)
    const { names, counters } = countersOf(flat)
    const place = new Map(names.map((name, i) => [name, i + 1]))
    const at = clock.now()
    const answer = await db.row(reserveUsage, {
      orgIds: counters.map((c) => c.orgId),
      subjects: counters.map((c) => c.subject),
      environments: counters.map((c) => c.environment),
      measures: counters.map((c) => c.measure),
      periods: counters.map((c) => c.period),
      lineReservation: asked.flatMap(({ lines }, r) => lines.map(() => r)),
      lineCounter: flat.map((line) => place.get(nameOf(line)) as number),
      amounts: flat.map((line) => line.amount),
      caps: flat.map((line) => line.cap),
      alertKinds: counters.map((c) => c.alert ?? null),
      alertIds: counters.flatMap((c) => {
        const idOrNone = () => (c.alert ? newId('event', at.getTime()) : null)
        return [idOrNone(), idOrNone()]
      }),
      channels: asked.map(({ channel }) => channel),
      at,
    })
    return asked.map((_, r) => {
      const line = answer?.refused_lines[r] as number
      return { refusedBy: line > 0 ? line - 1 : undefined }
    })
  }

  /** Those of an org at first as one: where all of them fit, none has to be judged by itself. */
  const judge = async (asked: Asked[]): Promise<Judged[]> => {
    const groups = [...Map.groupBy(asked, ({ orgId }) => orgId).values()].flatMap(together)
    const verdicts = await judgeEach(groups.map(({ sum }) => sum))
    const judged = new Map<Asked, Judged>()
    const open: Asked[] = []
    groups.forEach(({ of }, i) => {
      const verdict = verdicts[i] as Judged
      if (verdict.refusedBy !== undefined && of.length > 1) open.push(...of)
      else for (const one of of) judged.set(one, verdict)
    })
    // What is counted by now stays counted, so a fault is theirs alone.
    const failing = (failed: unknown): Judged[] => open.map(() => ({ failed }))
    const alone = open.length > 0 ? await judgeEach(open).catch(failing) : []
    for (const [i, one] of open.entries()) judged.set(one, alone[i] as Judged)
    return asked.map((one) => judged.get(one) as Judged)
  }

  const reservations = makeStepBatcher<Asked, Judged>({
    name: 'usage.reserve',
    run: judge,
  })
  const releases = makeBatcher<Line[], void>({
    name: 'usage.release',
    run: async (batch) => {
      const lines = batch.flat()
      const { names, counters } = countersOf(lines)
      const given = new Map<string, number>()
      for (const line of lines) given.set(nameOf(line), (given.get(nameOf(line)) ?? 0) + line.amount)
      await db.change(releaseUsage, {
        orgIds: counters.map((c) => c.orgId),
        subjects: counters.map((c) => c.subject),
        environments: counters.map((c) => c.environment),
        measures: counters.map((c) => c.measure),
        periods: counters.map((c) => c.period),
        amounts: names.map((name) => given.get(name) as number),
      })
      return batch.map(() => undefined)
    },
  })

  const giveBack = async (lines: Line[]): Promise<void> => {
    if (lines.length > 0) await releases.submit(lines)
  }

  return {
    allowanceOf,
    reserve: async (spend) => {
      const at = clock.now()
      const known = allowanceOf(spend.orgId, spend.tenantId)
      const allowance = known instanceof Promise ? await known : known
      const lines = linesOf(spend, allowance, at)
      if (lines.length === 0) return { lines, at, allowance }
      const asked = { orgId: spend.orgId, channel: spend.channel, lines }
      const { refusedBy, failed } = await reservations.submit(asked)
      if (failed) throw failed
      if (refusedBy !== undefined) throw refuse((lines[refusedBy] as Line).refusal, at)
      return { lines, at, allowance }
    },
    check: async (spend) => {
      const at = clock.now()
      const lines = linesOf(spend, await allowanceOf(spend.orgId, spend.tenantId), at)
      const { names, counters } = countersOf(lines)
      const rows = await db.rows(readNamedCounters, {
        orgIds: counters.map((c) => c.orgId),
        subjects: counters.map((c) => c.subject),
        environments: counters.map((c) => c.environment),
        measures: counters.map((c) => c.measure),
        periods: counters.map((c) => c.period),
      })
      const stands = new Map(rows.map(({ place, used }) => [names[place - 1], used]))
      const over = lines.find((line) => line.cap !== null && (stands.get(nameOf(line)) ?? 0) + line.amount > line.cap)
      if (over) throw refuse(over.refusal, at)
    },
    release: ({ lines }) => giveBack(lines),
    releasePart: ({ at, allowance }, part) => giveBack(linesOf(part, allowance, at)),
    forgetOrg: copies.forgetOrg,
    forgetAll: copies.clear,
  }
}
