/** The counters that a send adds to, with the amount and the cap of each. */
import type { Channel } from '../../platform/ground/channel.ts'
import type { Code } from '../../platform/ground/errors.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import type { Plan } from '../orgs/plans.ts'
import { dayOf, monthOf } from './periods.ts'
import { sandboxDaily, testDaily } from './plan-limits.ts'

export type Spend = {
  orgId: string
  tenantId: string | null
  environment: Environment
  /** Null for messages sent without a key, such as a dashboard test send. */
  keyId: string | null
  channel: Channel
  /** Recipients for email, messages for SMS. */
  units: number
  /**
   * What counts against the day's allowance of test messages, if that differs from `units`: a job takes the allowance
   * of all its messages at once.
   */
  testMessages?: number
  segments?: number
  costMicros?: number
  /** Recipients of a message from the sandbox sender. */
  sandbox?: number
  warmup?: { domainId: string; recipients: number; cap: number }
}

/** The usage of messages, by message id, as it is stored with a reservation. */
export type Parts = Record<string, Omit<Spend, 'orgId'>>

export const partOf = ({ orgId: _, ...part }: Spend): Parts[string] => part

export type Counter = { orgId: string; subject: string; environment: Environment; measure: string; period: string }

/** An amount to add to one counter, and the error code if that exceeds the cap. */
export type Line = Counter & {
  amount: number
  cap: number | null
  refusal: Code
  /** The alert that is sent when usage crosses a threshold of the cap. */
  alert?: 'plan_allowance' | 'spend_cap'
}

export type Allowance = {
  plan: Plan
  quota: Record<Channel, number | null>
  tenantQuota: Record<Channel, number | null>
  spendCapMicros: number | null
}

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
      amount: spend.testMessages ?? units,
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
  const ofPlan: Line = {
    orgId,
    subject: 'org',
    environment,
    measure: channel,
    period: month,
    amount: units,
    cap: live ? allowance.quota[channel] : null,
    refusal: 'USAGE_LIMIT_EXCEEDED',
    alert: 'plan_allowance',
  }
  if (tenantId === null) lines.push(ofPlan)
  else {
    const ofTenant: Line = {
      orgId,
      subject: tenantId,
      environment,
      measure: channel,
      period: month,
      amount: units,
      cap: allowance.tenantQuota[channel],
      refusal: 'TENANT_QUOTA_EXCEEDED',
    }
    // When both are used up, an email reports the plan and a text message the tenant.
    lines.push(...(channel === 'sms' ? [ofTenant, ofPlan] : [ofPlan, ofTenant]))
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

/** For amounts that are released, which no cap concerns. */
const noCaps: Allowance = {
  plan: 'free',
  quota: { email: null, sms: null },
  tenantQuota: { email: null, sms: null },
  spendCapMicros: null,
}

/** Every counter that the send adds to. Lines with a cap come first, since the first exceeded cap is the error. */
export const linesOf = (spend: Spend, allowance: Allowance, at: Date): Line[] => {
  const lines = [...cappedLines(spend, allowance, at), ...uncappedLines(spend, at)]
  return lines.filter(({ amount }) => amount > 0)
}

const sameAmounts = (a: Spend, b: Spend): boolean =>
  a.units === b.units && a.segments === b.segments && a.costMicros === b.costMicros && a.testMessages === b.testMessages

/** How many kinds of messages are remembered. */
const maxKinds = 10_000

/**
 * Like `linesOf`, for messages of one kind, which count on the same counters. It remembers the lines of the last message
 * of each kind, because those of the next one are nearly always the same. They must not be changed.
 */
export const makeLinesOfKind = () => {
  const last = new Map<string, { spend: Spend; allowance: Allowance; day: string; lines: Line[] }>()
  return (kind: string, spend: Spend, allowance: Allowance, at: Date): Line[] => {
    const known = last.get(kind)
    const day = dayOf(at)
    if (known?.day === day && known.allowance === allowance && sameAmounts(known.spend, spend)) return known.lines
    const lines = linesOf(spend, allowance, at)
    if (last.size >= maxKinds) last.clear()
    last.set(kind, { spend, allowance, day, lines })
    return lines
  }
}

/** Both counters must belong to the same org. */
export const sameCounter = (a: Counter, b: Counter): boolean =>
  a.subject === b.subject && a.measure === b.measure && a.environment === b.environment && a.period === b.period

export const nameOf = (c: Counter): string => `${c.orgId} ${c.subject} ${c.environment} ${c.measure} ${c.period}`

/** The lines of usage that was reserved at this time. */
export const releasedLines = (spend: Spend, at: Date): Line[] => linesOf(spend, noCaps, at)

export const linesOfParts = (orgId: string, parts: Parts, at: Date): Line[] =>
  Object.values(parts).flatMap((part) => releasedLines({ ...part, orgId }, at))

/** The distinct counters of the lines. Always in the same order, so that concurrent statements cannot deadlock. */
export const countersOf = <C extends Counter>(lines: C[]): { names: string[]; counters: C[] } => {
  const byName = new Map(lines.map((line) => [nameOf(line), line]))
  const names = [...byName.keys()].sort()
  return { names, counters: names.map((name) => byName.get(name) as C) }
}

/** Adds up the lines of messages by counter, in the order of `countersOf`. */
const totalsOf = (drawn: readonly (readonly Line[])[]): Line[] => {
  // Messages of one kind share their lines: see `makeLinesOfKind`.
  const times = new Map<readonly Line[], number>()
  for (const lines of drawn) times.set(lines, (times.get(lines) ?? 0) + 1)
  const totals = new Map<string, Line>()
  for (const [lines, messages] of times) {
    for (const line of lines) {
      const name = nameOf(line)
      const amount = line.amount * messages
      const total = totals.get(name)
      if (total) total.amount += amount
      else totals.set(name, { ...line, amount })
    }
  }
  return [...totals.keys()].sort().map((name) => totals.get(name) as Line)
}

/** Parameters of a statement that names counters: an array for each of these fields. */
export type CounterColumns = { subjects: string[]; environments: string[]; measures: string[]; periods: string[] }

export const counterColumns = (counters: readonly Counter[]): CounterColumns => ({
  subjects: counters.map(({ subject }) => subject),
  environments: counters.map(({ environment }) => environment),
  measures: counters.map(({ measure }) => measure),
  periods: counters.map(({ period }) => period),
})

export type SettledUsage = {
  /** Stored reservations to delete. Their usage stays counted. */
  reservedOrgs: string[]
  reservedIds: string[]
  /** Amounts to count. The counters are distinct and in their fixed order. */
  countedOrgs: string[]
  countedSubjects: string[]
  countedEnvironments: string[]
  countedMeasures: string[]
  countedPeriods: string[]
  countedAmounts: number[]
}

/** The parameters of a statement that deletes stored reservations and counts what messages drew from leases. */
export const settledUsage = (
  reserved: { orgId: string; id: string }[],
  drawn: readonly (readonly Line[])[],
): SettledUsage => {
  const totals = totalsOf(drawn)
  return {
    reservedOrgs: reserved.map(({ orgId }) => orgId),
    reservedIds: reserved.map(({ id }) => id),
    countedOrgs: totals.map(({ orgId }) => orgId),
    countedSubjects: totals.map(({ subject }) => subject),
    countedEnvironments: totals.map(({ environment }) => environment),
    countedMeasures: totals.map(({ measure }) => measure),
    countedPeriods: totals.map(({ period }) => period),
    countedAmounts: totals.map(({ amount }) => amount),
  }
}
