/**
 * Reserves usage before the provider is called. A reservation counts against every cap that applies to the send:
 * either all of them, or none if one cap would be exceeded.
 */
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
  /** Null for messages sent without a key, such as a dashboard test send. */
  keyId: string | null
  channel: Channel
  /** Recipients for email, messages for SMS. */
  units: number
  segments?: number
  costMicros?: number
  /** Recipients of a message from the sandbox sender. */
  sandbox?: number
  warmup?: { domainId: string; recipients: number; cap: number }
}

type Counter = { orgId: string; subject: string; environment: Environment; measure: string; period: string }

/** An amount to add to one counter, and the error code if that exceeds the cap. */
type Line = Counter & {
  amount: number
  cap: number | null
  refusal: Code
  /** The alert that is sent when usage crosses a threshold of the cap. */
  alert?: 'plan_allowance' | 'spend_cap'
}

/** Reserved usage. It is released if the message is not handed to the provider. */
export type Reservation = { lines: Line[]; at: Date; allowance: Allowance }

export type Allowance = {
  plan: AllowanceRow['plan']
  quota: Record<Channel, number | null>
  tenantQuota: Record<Channel, number | null>
  spendCapMicros: number | null
}

export interface Usage {
  /** Reserves usage, or throws the error code of the first cap that would be exceeded. */
  reserve(spend: Spend): Promise<Reservation>
  /** Throws the same errors as `reserve`, without reserving anything. */
  check(spend: Spend): Promise<void>
  release(reservation: Reservation): Promise<void>
  /** Releases part of a reservation, in the day and month in which it was made. */
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

/** The lines with a cap, in the order in which the caps are checked. */
const cappedLines = (spend: Spend, allowance: Allowance, at: Date): Line[] => {
  const { orgId, tenantId, environment, channel, units, costMicros = 0 } = spend
  const live = environment === 'live'
  const month = monthOf(at)
  const day = dayOf(at)
  const lines: Line[] = []
  if (!live) {
    lines.push({
      orgId,
      subject: 'org',
      environment,
      measure: 'messages',
      period: day,
      amount: units,
      cap: testDaily[allowance.plan],
      refusal: 'TEST_DAILY_LIMIT',
    })
  }
  if (live && spend.sandbox) {
    lines.push({
      orgId,
      subject: 'org',
      environment,
      measure: 'sandbox',
      period: day,
      amount: spend.sandbox,
      cap: sandboxDaily,
      refusal: 'SANDBOX_DAILY_LIMIT',
    })
  }
  lines.push({
    orgId,
    subject: 'org',
    environment,
    measure: channel,
    period: month,
    amount: units,
    cap: live ? allowance.quota[channel] : null,
    refusal: 'USAGE_LIMIT_EXCEEDED',
    alert: 'plan_allowance',
  })
  if (tenantId !== null) {
    lines.push({
      orgId,
      subject: tenantId,
      environment,
      measure: channel,
      period: month,
      amount: units,
      cap: allowance.tenantQuota[channel],
      refusal: 'TENANT_QUOTA_EXCEEDED',
    })
  }
  if (live && costMicros > 0) {
    lines.push({
      orgId,
      subject: 'org',
      environment,
      measure: 'spend',
      period: month,
      amount: costMicros,
      cap: allowance.spendCapMicros,
      refusal: 'SPEND_CAP_EXCEEDED',
      alert: 'spend_cap',
    })
  }
  if (live && spend.warmup) {
    lines.push({
      orgId,
      subject: spend.warmup.domainId,
      environment,
      measure: 'warmup',
      period: day,
      amount: spend.warmup.recipients,
      cap: spend.warmup.cap,
      refusal: 'WARMUP_LIMIT_EXCEEDED',
    })
  }
  return lines
}

/** Lines without a cap. They are counted for usage reports only. */
const uncappedLines = (spend: Spend, at: Date): Line[] => {
  const { orgId, tenantId, environment, channel, units, segments = 0, costMicros = 0 } = spend
  const period = monthOf(at)
  const keySubject = spend.keyId ?? 'no_key'
  const line = (subject: string, measure: string, amount: number): Line => ({
    orgId,
    subject,
    environment,
    measure,
    period,
    amount,
    cap: null,
    refusal: 'INTERNAL_ERROR',
  })
  const lines = [line('org', 'segments', segments)]
  if (tenantId !== null) lines.push(line(tenantId, 'segments', segments))
  lines.push(line(keySubject, channel, units))
  lines.push(line(keySubject, 'segments', segments))
  if (environment === 'live') lines.push(line(keySubject, 'spend', costMicros))
  return lines
}

/** Every counter that the send adds to. Lines with a cap come first, since the first exceeded cap is the error. */
export const linesOf = (spend: Spend, allowance: Allowance, at: Date): Line[] => {
  const lines = [...cappedLines(spend, allowance, at), ...uncappedLines(spend, at)]
  return lines.filter(({ amount }) => amount > 0)
}

const failureFor = (code: Code, at: Date): Failure => {
  if (code === 'SANDBOX_DAILY_LIMIT' || code === 'SPEND_CAP_EXCEEDED') return new Failure(code)
  const daily = code === 'TEST_DAILY_LIMIT' || code === 'WARMUP_LIMIT_EXCEEDED'
  return new Failure(code, { retryAfter: daily ? secondsToNextDay(at) : secondsToNextMonth(at) })
}

const nameOf = (c: Counter): string => `${c.orgId} ${c.subject} ${c.environment} ${c.measure} ${c.period}`

/** The distinct counters of the lines. Always in the same order, so that concurrent statements cannot deadlock. */
const countersOf = <C extends Counter>(lines: C[]): { names: string[]; counters: C[] } => {
  const byName = new Map(lines.map((line) => [nameOf(line), line]))
  const names = [...byName.keys()].sort()
  return { names, counters: names.map((name) => byName.get(name) as C) }
}

type ReservationRequest = { orgId: string; channel: Channel; lines: Line[] }

const lower = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** Requests that are decided together, and their sum as one request. */
type Group = { sum: ReservationRequest; requests: ReservationRequest[] }

/** Both counters must belong to the same org. */
const sameCounter = (a: Counter, b: Counter): boolean =>
  a.subject === b.subject && a.measure === b.measure && a.environment === b.environment && a.period === b.period

/** Adds up requests of one org per counter, under the lowest cap of each counter. */
const sumOf = (requests: ReservationRequest[]): Line[] => {
  const sums: Line[] = []
  const byName = new Map<string, Line>()
  for (const { lines } of requests) {
    for (const [place, line] of lines.entries()) {
      // Most requests use the same counters in the same order. Names are built only for those that do not.
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

/**
 * Groups the requests of an org. Requests for different channels are not grouped, because an alert names the channel
 * that caused it.
 */
const groupsOf = (requests: ReservationRequest[]): Group[] => {
  const [first] = requests as [ReservationRequest, ...ReservationRequest[]]
  if (requests.length === 1 || requests.some(({ channel }) => channel !== first.channel)) {
    return requests.map((request) => ({ sum: request, requests: [request] }))
  }
  return [{ sum: { ...first, lines: sumOf(requests) }, requests }]
}

/** The index of the line whose cap would be exceeded, if any, or the error if the statement failed. */
type Decision = { refusedBy?: number | undefined; failed?: unknown }

type Needs = { db: Db; clock: Clock; trusted: () => boolean }

export const makeUsage = ({ db, clock, trusted }: Needs): Usage => {
  const copies = makeShortCache<Allowance>({ trusted })

  const allowanceOf = (orgId: string, tenantId: string | null): MaybePromise<Allowance> =>
    copies.through(tenantId === null ? orgId : `${orgId} ${tenantId}`, orgId, async () => {
      const row = await db.row(findAllowance, { orgId, tenantId })
      if (!row) throw new Error(`Org ${orgId} does not exist`)
      return allowanceFrom(row)
    })

  /** Decides each request separately, in the given order: all of its lines are reserved, or none. */
  const decideEach = async (requests: ReservationRequest[]): Promise<Decision[]> => {
    const flat = requests.flatMap(({ lines }) => lines)
    const { names, counters } = countersOf(flat)
    const place = new Map(names.map((name, i) => [name, i + 1]))
    const at = clock.now()
    const answer = await db.row(reserveUsage, {
      orgIds: counters.map((c) => c.orgId),
      subjects: counters.map((c) => c.subject),
      environments: counters.map((c) => c.environment),
      measures: counters.map((c) => c.measure),
      periods: counters.map((c) => c.period),
      lineReservation: requests.flatMap(({ lines }, r) => lines.map(() => r)),
      lineCounter: flat.map((line) => place.get(nameOf(line)) as number),
      amounts: flat.map((line) => line.amount),
      caps: flat.map((line) => line.cap),
      alertKinds: counters.map((c) => c.alert ?? null),
      alertIds: counters.flatMap((c) => {
        const newAlertId = () => (c.alert ? newId('event', at.getTime()) : null)
        // One for each of the two thresholds.
        return [newAlertId(), newAlertId()]
      }),
      channels: requests.map(({ channel }) => channel),
      at,
    })
    return requests.map((_, r) => {
      const line = answer?.refused_lines[r] as number
      return { refusedBy: line > 0 ? line - 1 : undefined }
    })
  }

  /** Decides all requests of an org as one first. Only if their sum does not fit is each decided separately. */
  const decide = async (requests: ReservationRequest[]): Promise<Decision[]> => {
    const groups = [...Map.groupBy(requests, ({ orgId }) => orgId).values()].flatMap(groupsOf)
    const groupDecisions = await decideEach(groups.map(({ sum }) => sum))
    const decisions = new Map<ReservationRequest, Decision>()
    const undecided: ReservationRequest[] = []
    groups.forEach((group, i) => {
      const decision = groupDecisions[i] as Decision
      if (decision.refusedBy !== undefined && group.requests.length > 1) undecided.push(...group.requests)
      else for (const request of group.requests) decisions.set(request, decision)
    })
    // The first statement is already committed, so an error of the second one fails only the undecided requests.
    const failAll = (failed: unknown): Decision[] => undecided.map(() => ({ failed }))
    const separate = undecided.length > 0 ? await decideEach(undecided).catch(failAll) : []
    for (const [i, request] of undecided.entries()) decisions.set(request, separate[i] as Decision)
    return requests.map((request) => decisions.get(request) as Decision)
  }

  const reservations = makeStepBatcher<ReservationRequest, Decision>({
    name: 'usage.reserve',
    run: decide,
  })
  const releases = makeBatcher<Line[], void>({
    name: 'usage.release',
    run: async (batch) => {
      const lines = batch.flat()
      const { names, counters } = countersOf(lines)
      const amounts = new Map<string, number>()
      for (const line of lines) amounts.set(nameOf(line), (amounts.get(nameOf(line)) ?? 0) + line.amount)
      await db.change(releaseUsage, {
        orgIds: counters.map((c) => c.orgId),
        subjects: counters.map((c) => c.subject),
        environments: counters.map((c) => c.environment),
        measures: counters.map((c) => c.measure),
        periods: counters.map((c) => c.period),
        amounts: names.map((name) => amounts.get(name) as number),
      })
      return batch.map(() => undefined)
    },
  })

  const releaseLines = async (lines: Line[]): Promise<void> => {
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
      const { refusedBy, failed } = await reservations.submit({ orgId: spend.orgId, channel: spend.channel, lines })
      if (failed) throw failed
      if (refusedBy !== undefined) throw failureFor((lines[refusedBy] as Line).refusal, at)
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
      const usedOf = new Map(rows.map(({ place, used }) => [names[place - 1], used]))
      const over = lines.find((line) => line.cap !== null && (usedOf.get(nameOf(line)) ?? 0) + line.amount > line.cap)
      if (over) throw failureFor(over.refusal, at)
    },
    release: ({ lines }) => releaseLines(lines),
    releasePart: ({ at, allowance }, part) => releaseLines(linesOf(part, allowance, at)),
    forgetOrg: copies.forgetOrg,
    forgetAll: copies.clear,
  }
}
