/**
 * Leases of usage. A process that sends many messages of one kind (of one org, tenant, key and channel) leases usage
 * for the next seconds in advance. It then draws the usage of a message from the lease without a statement, and the
 * usage is counted in the statement that records the message. See docs/decisions/0020.
 */
import { retryOnOutage } from '../../platform/db/outage.ts'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { reservationLeaseMs } from './decide-reservations.ts'
import { counterColumns, countersOf, type Line, sameCounter } from './lines.ts'
import { leaseUsage, returnLease } from './store.ts'

/** Below this rate a lease would cost more statements than it saves. */
const busyPerSecond = 8
/** How long a process draws from a lease. It is returned when the last message that drew from it is settled. */
const drawMs = 2_000
/** After a refusal, usage is close to a cap, and every message is reserved for a while. */
const refusedMs = 5_000
const maxMessages = 10_000

type Lease = {
  orgId: string
  id: string
  /** A message that the lease was sized for, and how many such messages it is for. */
  lines: Line[]
  messages: number
  /** What is left of each of the lines. */
  left: number[]
  drawUntil: number
  /** Messages that drew from it and have no final state. */
  open: number
  ended: boolean
}

/** The usage of one message, drawn from a lease. */
export type Draw = { lease: Lease; lines: readonly Line[] }

const sameCounters = (lines: Line[], leased: Line[]): boolean =>
  lines.length === leased.length &&
  lines.every((line, i) => line.cap === leased[i]?.cap && sameCounter(line, leased[i] as Line))

/** Only messages with the same counters and caps draw from a lease. */
const serves = (lease: Lease, lines: Line[], now: number): boolean =>
  now < lease.drawUntil &&
  (lines === lease.lines || sameCounters(lines, lease.lines)) &&
  lines.every(({ amount }, i) => amount <= (lease.left[i] as number))

const addTo = (lease: Lease, lines: readonly Line[], sign: 1 | -1): void => {
  for (let i = 0; i < lines.length; i++) {
    lease.left[i] = (lease.left[i] as number) + sign * (lines[i] as Line).amount
  }
}

const isLow = ({ lines, left, messages, drawUntil }: Lease, now: number): boolean =>
  drawUntil - now < drawMs / 2 || lines.some(({ amount }, i) => (left[i] as number) * 4 < amount * messages)

export const makeLeases = ({ db, clock, log }: StoreNeeds & { log: Log }) => {
  const leases = new Map<string, Lease>()
  const asking = new Map<string, Promise<void>>()
  const refusedUntil = new Map<string, number>()
  const returning = new Set<Promise<unknown>>()
  /** Messages of each kind in the present second. */
  const counts = new Map<string, number>()
  let since = 0

  const giveBackAll = ({ orgId, id }: Lease): void => {
    const returned = retryOnOutage(() => db.row(returnLease, { orgId, id })).catch((err) =>
      log.error({ err, org_id: orgId }, 'usage lease not returned'),
    )
    returning.add(returned)
    void returned.then(() => returning.delete(returned))
  }

  const end = (lease: Lease): void => {
    if (lease.ended) return
    lease.ended = true
    if (lease.open === 0) giveBackAll(lease)
  }

  const settle = ({ lease }: Draw): void => {
    lease.open--
    if (lease.ended && lease.open === 0) giveBackAll(lease)
  }

  const ask = async (lines: Line[], wanted: number): Promise<Lease | undefined> => {
    const [{ orgId }] = lines as [Line]
    const { counters } = countersOf(lines)
    const id = newId('request', clock.millis())
    const answer = await db.row(leaseUsage, {
      orgId,
      id,
      ...counterColumns(counters),
      amounts: counters.map(({ amount }) => amount),
      caps: counters.map(({ cap }) => cap),
      wanted,
      fewest: busyPerSecond,
      expiresAt: new Date(clock.millis() + reservationLeaseMs),
    })
    const messages = answer?.granted ?? 0
    if (messages === 0) return undefined
    const left = lines.map(({ cap, amount }) => (cap === null ? Number.POSITIVE_INFINITY : amount * messages))
    return { orgId, id, lines, messages, left, drawUntil: clock.millis() + drawMs, open: 0, ended: false }
  }

  const renew = async (kind: string, lines: Line[], wanted: number): Promise<void> => {
    const lease = await ask(lines, wanted).catch((err) => {
      log.warn({ err }, 'usage not leased')
      return undefined
    })
    asking.delete(kind)
    if (!lease) {
      refusedUntil.set(kind, clock.millis() + refusedMs)
      return
    }
    const former = leases.get(kind)
    if (former) end(former)
    leases.set(kind, lease)
    setTimeout(() => {
      end(lease)
      if (leases.get(kind) === lease) leases.delete(kind)
    }, drawMs).unref()
  }

  const countOf = (kind: string, now: number): number => {
    if (now < since || now >= since + 1_000) {
      since = now
      counts.clear()
      for (const [refused, until] of refusedUntil) if (now >= until) refusedUntil.delete(refused)
    }
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    return count
  }

  return {
    /** Draws the usage of a message, if this kind of message has a lease with enough left. */
    draw: (kind: string, lines: Line[]) => {
      const now = clock.millis()
      const count = countOf(kind, now)
      const lease = leases.get(kind)
      const usable = lease && serves(lease, lines, now) ? lease : undefined
      const wanted = count >= busyPerSecond && (!usable || isLow(usable, now))
      if (wanted && !asking.has(kind) && !refusedUntil.has(kind)) {
        asking.set(kind, renew(kind, lines, Math.min(maxMessages, count * 4)))
      }
      if (!usable) return undefined
      addTo(usable, lines, -1)
      usable.open++
      return { lease: usable, lines }
    },
    /** The message has a final state. */
    settle,
    /** The message was not sent: others may use what it drew. */
    giveBack: (draw: Draw) => {
      addTo(draw.lease, draw.lines, 1)
      settle(draw)
    },
    /** Ends all leases. One with messages in progress is returned when these are settled. */
    end: async () => {
      await Promise.all(asking.values())
      for (const lease of leases.values()) end(lease)
      leases.clear()
      await Promise.all(returning)
    },
  }
}

export type Leases = ReturnType<typeof makeLeases>
