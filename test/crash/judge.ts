/** Compares what clients were told with what providers and the webhook receiver got, and with what the service stored. */
import type { Item, Outcome } from './clients.ts'
import type { Way } from './operations.ts'
import type { Arrival } from './sinks.ts'

/** In the history of a message whose earlier attempt was interrupted. */
const repeatedMark = /earlier attempt was interrupted/
const safeToRepeat = /It is safe to try again/

export type StoredMessage = {
  id: string
  channel: 'email' | 'sms'
  status: string
  job_id: string | null
  to_addresses: string[]
  details: (string | null)[]
}

export type Stored = {
  messages: StoredMessage[]
  jobs: { id: string }[]
  verifications: { id: string; channel: 'email' | 'sms'; destination: string }[]
  entries: { action: string; resource_id: string | null; count: number | null }[]
  sentEvents: { id: string; message_id: string }[]
  used: { email: number; sms: number }
  openReservations: number
}

export type Judged = {
  /** Operations by way: those that were acknowledged, and of these those that took more than one request. */
  acknowledged: Record<string, { operations: number; repeated: number }>
  messages: number
  handedOver: number
  /** Messages and codes that reached a provider again under the same id, by way. */
  handedOverAgain: Record<string, number>
  /** Items of batches with an error, by code. */
  failedItems: Record<string, number>
  auditedMessages: number
  used: Stored['used']
  eventsDeliveredAgain: number
  longestWaitSeconds: number
  faults: string[]
}

const isBatch = (way: Way): boolean => way === 'email batch' || way === 'sms batch'
const itemsOf = ({ body }: Outcome): Item[] => body?.data ?? []

const add = (counts: Record<string, number>, name: string): void => {
  counts[name] = (counts[name] ?? 0) + 1
}

/** The arrivals of each recipient, under one id for each of them. */
const checkArrivals = (
  { operation, result }: Outcome,
  arrivals: ReadonlyMap<string, Arrival[]>,
  faults: string[],
): void => {
  for (const recipient of operation.recipients) {
    const got = arrivals.get(recipient) ?? []
    const ids = new Set(got.map(({ id }) => id))
    if (ids.size > 1) faults.push(`${operation.way}: a recipient got ${ids.size} messages under one key: ${[...ids]}`)
    const codes = new Set(got.map(({ code }) => code))
    if (codes.size > 1) faults.push(`${operation.way}: a recipient got ${codes.size} different codes under one key`)
    const isExpected = result === 'acknowledged' && !isBatch(operation.way) && operation.way !== 'blast'
    if (isExpected && got.length === 0) faults.push(`${operation.way}: acknowledged and never reached a provider`)
  }
}

const checkItems = (outcome: Outcome, arrivals: ReadonlyMap<string, Arrival[]>, judged: Judged): void => {
  const { recipients, way } = outcome.operation
  for (const [i, { status, error }] of itemsOf(outcome).entries()) {
    const arrived = arrivals.has(recipients[i] as string)
    if (status === 'sent' && !arrived) judged.faults.push(`${way}: an item that was sent never reached a provider`)
    if (!error) continue
    add(judged.failedItems, error.code)
    if (arrived && safeToRepeat.test(error.message)) {
      judged.faults.push(`${way}: an item that reached a provider was called safe to try again`)
    }
  }
}

/** A message may reach a provider again only if no earlier attempt had recorded it. Its history then says so. */
const checkRepeated = (
  repeated: ReadonlyMap<string, number>,
  messages: ReadonlyMap<string, StoredMessage>,
  wayOf: (recipient: string) => Way | undefined,
  judged: Judged,
): void => {
  for (const [id, recipientCount] of repeated) {
    if (recipientCount < 2) continue
    const message = messages.get(id)
    if (!message) {
      add(judged.handedOverAgain, 'code')
      continue
    }
    const way = wayOf(message.to_addresses[0] as string) ?? 'unknown'
    add(judged.handedOverAgain, way)
    if (!message.details.some((detail) => repeatedMark.test(detail ?? ''))) {
      judged.faults.push(`${way}: ${id} was handed over ${recipientCount} times although it had been recorded`)
    }
  }
}

const checkAudit = (
  { messages, jobs, entries }: Stored,
  wayOf: (recipient: string) => Way | undefined,
  judged: Judged,
): void => {
  const sent = entries.filter(({ action }) => action === 'message.sent')
  const about = new Map<string, number>()
  for (const { resource_id: id } of sent) if (id !== null) about.set(id, (about.get(id) ?? 0) + 1)
  const covered = sent.reduce((sum, { resource_id, count }) => sum + (resource_id === null ? (count ?? 0) : 0), 0)
  const accepted = messages.filter(({ job_id, status }) => job_id === null && status !== 'failed')
  const ofBatches = accepted.filter(({ to_addresses: [to] }) => isBatch(wayOf(to as string) ?? 'email'))
  if (covered !== ofBatches.length) {
    judged.faults.push(`audit: ${ofBatches.length} messages of batches are stored and ${covered} are covered`)
  }
  for (const { id } of accepted) {
    const expected = ofBatches.some((message) => message.id === id) ? 0 : 1
    if ((about.get(id) ?? 0) !== expected) judged.faults.push(`audit: ${id} has ${about.get(id) ?? 0} entries`)
  }
  const blasts = entries.filter(({ action }) => action === 'audience.sent').length
  if (blasts !== jobs.length) judged.faults.push(`audit: ${jobs.length} jobs and ${blasts} entries about them`)
  judged.auditedMessages = covered + about.size
}

/** A code is stored for every acknowledged start, and for no other. */
const checkCodes = (outcomes: readonly Outcome[], { verifications }: Stored, faults: string[]): void => {
  const started = new Set(
    outcomes.flatMap(({ operation, result, body }) =>
      operation.way === 'code' && result === 'acknowledged' ? [body.id] : [],
    ),
  )
  const others = verifications.filter(({ id }) => !started.has(id))
  if (others.length > 0) faults.push(`codes: ${others.length} are stored that no client knows of`)
}

const checkUsage = ({ messages, verifications, used, openReservations }: Stored, faults: string[]): void => {
  for (const channel of ['email', 'sms'] as const) {
    const sent = messages.filter((message) => message.channel === channel && message.status !== 'failed').length
    const codes = verifications.filter((verification) => verification.channel === channel).length
    if (used[channel] !== sent + codes) {
      faults.push(`usage: ${sent} ${channel} messages and ${codes} codes were sent, and ${used[channel]} are counted`)
    }
  }
  if (openReservations > 0) faults.push(`usage: ${openReservations} reservations are open`)
}

const checkEvents = (stored: Stored, delivered: ReadonlyMap<string, number>, faults: string[]): void => {
  const eventsOf = new Map<string, number>()
  for (const { id, message_id } of stored.sentEvents) {
    eventsOf.set(message_id, (eventsOf.get(message_id) ?? 0) + 1)
    if (!delivered.has(id)) faults.push(`webhooks: the event ${id} never arrived`)
  }
  for (const { id, status } of stored.messages) {
    const expected = status === 'failed' ? 0 : 1
    const events = eventsOf.get(id) ?? 0
    if (events !== expected) faults.push(`events: ${id} is ${status} and has ${events} message.sent events`)
  }
}

const sentStatuses = new Set(['sent', 'delivered', 'bounced'])

/** Every acknowledged message is stored and was sent. */
const checkAcknowledged = (outcome: Outcome, stored: ReadonlyMap<string, { status?: string }>, faults: string[]) => {
  const { operation, body, result } = outcome
  if (result !== 'acknowledged' || operation.way === 'blast') return
  const ids: string[] = isBatch(operation.way)
    ? itemsOf(outcome).flatMap(({ id, status }) => (id && status === 'sent' ? [id] : []))
    : [body.id]
  for (const id of ids) {
    const row = stored.get(id)
    if (!row) faults.push(`lost: ${operation.way} ${id} was acknowledged and is not stored`)
    else if (row.status && !sentStatuses.has(row.status)) faults.push(`lost: ${operation.way} ${id} is ${row.status}`)
  }
}

/** The messages of a blast: all of an acknowledged one, and at most one for each contact otherwise. */
const checkBlast = ({ operation, result }: Outcome, messages: readonly StoredMessage[], faults: string[]): void => {
  if (operation.way !== 'blast') return
  const recipients = new Set(operation.recipients)
  const ofBlast = messages.filter(({ to_addresses: [to] }) => recipients.has(to as string))
  const jobs = new Set(ofBlast.map(({ job_id }) => job_id))
  if (jobs.size > 1) faults.push(`blast: ${jobs.size} jobs under one key`)
  if (ofBlast.length > recipients.size) faults.push(`blast: ${ofBlast.length} messages for ${recipients.size} contacts`)
  if (result === 'acknowledged' && ofBlast.length < recipients.size) {
    faults.push(`blast: ${ofBlast.length} of ${recipients.size} messages are stored`)
  }
}

const expectedRefusal = (outcome: Outcome): boolean =>
  outcome.status === 500 &&
  (/Do not send it again/.test(outcome.body.error.message) || outcome.body.error.code === 'AUDIENCE_SEND_INCOMPLETE')

type Given = { outcomes: Outcome[]; arrivals: Arrival[]; delivered: ReadonlyMap<string, number>; stored: Stored }

export const judge = ({ outcomes, arrivals, delivered, stored }: Given): Judged => {
  const byRecipient = Map.groupBy(arrivals, ({ recipient }) => recipient)
  const wayByRecipient = new Map(
    outcomes.flatMap(({ operation }) => operation.recipients.map((recipient) => [recipient, operation.way] as const)),
  )
  const wayOf = (recipient: string) => wayByRecipient.get(recipient)
  const messages = new Map(stored.messages.map((message) => [message.id, message]))
  const storedIds = new Map<string, { status?: string }>([
    ...stored.messages.map((message) => [message.id, message] as const),
    ...stored.verifications.map(({ id }) => [id, {}] as const),
  ])
  const judged: Judged = {
    acknowledged: {},
    messages: stored.messages.length,
    handedOver: arrivals.length,
    handedOverAgain: {},
    failedItems: {},
    auditedMessages: 0,
    used: stored.used,
    eventsDeliveredAgain: [...delivered.values()].filter((times) => times > 1).length,
    longestWaitSeconds: Math.max(0, ...outcomes.map(({ tookMs }) => Math.round(tookMs / 100) / 10)),
    faults: [],
  }
  for (const outcome of outcomes) {
    const { operation, result, attempts } = outcome
    if (result === 'acknowledged') {
      const { operations, repeated } = judged.acknowledged[operation.way] ?? { operations: 0, repeated: 0 }
      judged.acknowledged[operation.way] = {
        operations: operations + 1,
        repeated: repeated + (attempts > 1 ? 1 : 0),
      }
    }
    if (result === 'refused' && !expectedRefusal(outcome)) {
      judged.faults.push(`${operation.way}: refused with ${outcome.status} ${JSON.stringify(outcome.body?.error)}`)
    }
    if (result === 'unfinished') {
      judged.faults.push(`${operation.way}: no result after ${attempts} requests, the last one ${outcome.status}`)
    }
    checkArrivals(outcome, byRecipient, judged.faults)
    if (isBatch(operation.way)) checkItems(outcome, byRecipient, judged)
    checkAcknowledged(outcome, storedIds, judged.faults)
    checkBlast(outcome, stored.messages, judged.faults)
  }
  const perId = new Map<string, number>()
  for (const { id } of arrivals) perId.set(id, (perId.get(id) ?? 0) + 1)
  checkRepeated(perId, messages, wayOf, judged)
  checkAudit(stored, wayOf, judged)
  checkCodes(outcomes, stored, judged.faults)
  checkUsage(stored, judged.faults)
  checkEvents(stored, delivered, judged.faults)
  return judged
}
