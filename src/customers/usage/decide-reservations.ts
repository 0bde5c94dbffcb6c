/** Decides reservations: those of one org together where possible, and otherwise one by one. */
import { uniqueViolation } from '../../platform/db/faults.ts'
import type { Runner } from '../../platform/db/pool.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import { counterColumns, countersOf, type Line, nameOf, type Parts, sameCounter } from './lines.ts'
import { reserveUsage } from './store.ts'

/** A reservation that is stored until its message has a final state. */
export type Hold = {
  /** The message, or the batch. */
  id: string
  /** The scheduler's claim. A later claim of the same message takes the reservation over. */
  claim: string | null
  at: Date
  parts: Parts
}

/** Recipients that must not be suppressed. */
export type Recipients = {
  tenantId: string | null
  /** In the stored form: lower-case addresses, numbers in E.164 format. */
  values: string[]
  /** Unsubscribes block only broadcasts. */
  broadcast: boolean
}

export type ReservationRequest = {
  orgId: string
  channel: Channel
  lines: Line[]
  hold?: Hold | undefined
  recipients?: Recipients | undefined
}

export type Decision = {
  /** The index of the line whose cap would be exceeded. */
  refusedBy?: number
  /** The recipients that are suppressed. Nothing is reserved. */
  suppressed?: Set<string>
  /** The reservation that the message already has. Nothing more is reserved. */
  held?: Pick<Hold, 'at' | 'parts'>
  /** The error if the statement failed. */
  failed?: unknown
}

/**
 * After this time the process that made a reservation is presumed dead. No request takes longer: a batch starts its last
 * message within 300 seconds.
 */
export const reservationLeaseMs = 15 * 60_000

const lower = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** Requests that are decided together, and their sum as one request. */
type Group = { sum: ReservationRequest; requests: ReservationRequest[] }

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

const alone = (request: ReservationRequest): Group => ({ sum: request, requests: [request] })

/**
 * Groups the requests of an org. Requests for different channels are not grouped, because an alert names the channel
 * that caused it.
 */
const groupsOf = (requests: ReservationRequest[]): Group[] => {
  const [first] = requests as [ReservationRequest, ...ReservationRequest[]]
  if (requests.length === 1 || requests.some(({ channel }) => channel !== first.channel)) {
    return requests.map(alone)
  }
  return [{ sum: { ...first, lines: sumOf(requests) }, requests }]
}

const groupsByOrg = (requests: ReservationRequest[]): Group[] =>
  [...Map.groupBy(requests, ({ orgId }) => orgId).values()].flatMap(groupsOf)

/** A statement stores at most one reservation of a message. The next one finds it for the other requests. */
const firstOfEachMessage = (requests: ReservationRequest[]): ReservationRequest[] => {
  const seen = new Set<string>()
  return requests.filter(({ hold }) => {
    if (!hold) return true
    if (seen.has(hold.id)) return false
    seen.add(hold.id)
    return true
  })
}

const holdColumns = (groups: Group[]) => {
  const held = groups.flatMap(({ requests }, group) =>
    requests.flatMap(({ orgId, hold }) => (hold ? [{ orgId, hold, group }] : [])),
  )
  return {
    heldOrgs: held.map(({ orgId }) => orgId),
    heldIds: held.map(({ hold }) => hold.id),
    heldClaims: held.map(({ hold }) => hold.claim),
    heldAt: held.map(({ hold }) => hold.at),
    heldParts: held.map(({ hold }) => JSON.stringify(hold.parts)),
    heldReservations: held.map(({ group }) => group),
  }
}

type Recipient = { request: ReservationRequest; value: string; recipients: Recipients }

const recipientColumns = (recipients: Recipient[]) => ({
  recipientOrgs: recipients.map(({ request }) => request.orgId),
  recipientTenants: recipients.map(({ recipients: { tenantId } }) => tenantId),
  recipientChannels: recipients.map(({ request }) => request.channel),
  recipients: recipients.map(({ value }) => value),
  broadcasts: recipients.map(({ recipients: { broadcast } }) => broadcast),
})

const lineColumns = (groups: Group[], at: Date) => {
  const requests = groups.map(({ sum }) => sum)
  const flat = requests.flatMap(({ lines }) => lines)
  const { names, counters } = countersOf(flat)
  const place = new Map(names.map((name, i) => [name, i + 1]))
  return {
    orgIds: counters.map((c) => c.orgId),
    ...counterColumns(counters),
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
  }
}

/** The requests that got a decision, and whether a group was refused, so that each is decided separately next. */
type Answer = { decided: Map<ReservationRequest, Decision>; refusedGroup: boolean }

export const makeDecide = ({ db, clock }: { db: Pick<Runner, 'row'>; clock: Clock }) => {
  /** The recipients of requests that were asked before are not read again. */
  const ask = async (groups: Group[], asked: ReadonlySet<ReservationRequest>): Promise<Answer> => {
    const at = clock.now()
    const recipients: Recipient[] = []
    const holders: ReservationRequest[] = []
    for (const { requests } of groups) {
      for (const request of requests) {
        if (request.hold) holders.push(request)
        if (!request.recipients || asked.has(request)) continue
        for (const value of request.recipients.values)
          recipients.push({ request, value, recipients: request.recipients })
      }
    }
    const given = {
      ...recipientColumns(recipients),
      ...holdColumns(groups),
      ...lineColumns(groups, at),
      expiresAt: new Date(at.getTime() + reservationLeaseMs),
      at,
    }
    const reserve = () => db.row(reserveUsage, given)
    // Another process reserved the same message at the same moment. Its reservation is found the second time.
    const answer = await reserve().catch((error) =>
      uniqueViolation(error, 'usage_reservations_pkey') ? reserve() : Promise.reject(error),
    )
    const decided: Answer['decided'] = new Map()
    for (const n of answer?.blocked ?? []) {
      const { request, value } = recipients[n - 1] as Recipient
      const decision = decided.get(request) ?? { suppressed: new Set() }
      decision.suppressed?.add(value)
      decided.set(request, decision)
    }
    for (const { n, at: reservedAt, parts } of answer?.held ?? []) {
      decided.set(holders[n - 1] as ReservationRequest, { held: { at: new Date(reservedAt), parts } })
    }
    let refusedGroup = false
    if (decided.size > 0) return { decided, refusedGroup }
    groups.forEach(({ requests }, group) => {
      const line = answer?.refused_lines?.[group] as number
      if (line > 0 && requests.length > 1) refusedGroup = true
      else for (const request of requests) decided.set(request, line > 0 ? { refusedBy: line - 1 } : {})
    })
    return { decided, refusedGroup }
  }

  /**
   * Decides all requests of an org as one first. Only if their sum does not fit is each decided separately. Requests
   * with suppressed recipients or an earlier reservation drop out before that.
   */
  return async (requests: ReservationRequest[]): Promise<Decision[]> => {
    const decisions = new Map<ReservationRequest, Decision>()
    const asked = new Set<ReservationRequest>()
    let open = requests
    let together = true
    while (open.length > 0) {
      const asking = firstOfEachMessage(open)
      const groups: Group[] = together ? groupsByOrg(asking) : asking.map(alone)
      const first = open === requests
      const undecided = open
      // An earlier statement is already committed, so an error of a later one fails only the undecided requests.
      const failAll = (failed: unknown): Answer => {
        if (first) throw failed
        return { decided: new Map(undecided.map((request) => [request, { failed }])), refusedGroup: false }
      }
      const { decided, refusedGroup } = await ask(groups, asked).catch(failAll)
      for (const request of asking) asked.add(request)
      for (const [request, decision] of decided) decisions.set(request, decision)
      open = open.filter((request) => !decisions.has(request))
      together = !refusedGroup
    }
    return requests.map((request) => decisions.get(request) as Decision)
  }
}
