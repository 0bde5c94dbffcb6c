/**
 * Sends one message every few milliseconds, in turn to each API process, whether or not earlier ones were answered. Each
 * is repeated under its Idempotency-Key until it is acknowledged.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { DrillServices } from './processes.ts'
import { stopping } from './progress.ts'
import type { Acknowledged, Refused } from './tally.ts'

export type DrillLoad = {
  acknowledged: Acknowledged[]
  /** Requests whose response is an error. They are repeated. */
  refused: Refused[]
  /** Requests without a response. They are repeated too. */
  unanswered: number
  /** Messages that were not acknowledged however often they were repeated. */
  unfinished: string[]
  /** Sends that were accepted without a rate limit, because Redis did not answer. */
  unlimited: number
  /** When the last send with a rate limit was accepted. */
  limitedAt: number
  /** Ends the load and waits until every message is acknowledged. */
  stop(): Promise<void>
}

const everyMs = 25
const timeoutMs = 20_000
const maxOpen = 1_500
const repeatAfterMs = 500
/** Much longer than an outage, and than a key stays locked after its process died. */
const patienceMs = 180_000

export const startLoad = ({ urls, key }: Pick<DrillServices, 'urls' | 'key'>): DrillLoad => {
  const load: DrillLoad = {
    acknowledged: [],
    refused: [],
    unanswered: 0,
    unfinished: [],
    unlimited: 0,
    limitedAt: 0,
    stop: async () => undefined,
  }
  const open = new Set<Promise<void>>()
  let count = 0

  /** Every second message is sent by a worker, a moment later. */
  const messageOf = (n: number) => {
    const [reference, scheduled] = [`send-${n}`, n % 4 < 2]
    const body = {
      from: 'hello@example.test',
      to: [`${reference}@reader.test`],
      subject: 'A subject',
      text: 'Hi',
      ...(scheduled && { scheduled_at: new Date(Date.now() + 2_000).toISOString() }),
    }
    return { reference, scheduled, body: JSON.stringify(body) }
  }

  /** Returns whether the message was acknowledged. */
  const attempt = async ({ reference, scheduled, body }: ReturnType<typeof messageOf>, url: string) => {
    const sentAt = Date.now()
    const response = await fetch(`${url}/api/v1/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': reference },
      body,
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), stopping]),
    })
    const answer = (await response.json()) as { id?: string; error?: { code?: string } }
    const { status } = response
    if (!response.ok || answer.id === undefined) {
      load.refused.push({ reference, status, code: answer.error?.code ?? '', sentAt, at: Date.now() })
      return false
    }
    load.acknowledged.push({ reference, id: answer.id, at: Date.now(), scheduled })
    if (response.headers.has('x-ratelimit-limit')) load.limitedAt = Date.now()
    else load.unlimited++
    return true
  }

  const send = async (n: number): Promise<void> => {
    const message = messageOf(n)
    const until = Date.now() + patienceMs
    for (let turn = n; Date.now() < until && !stopping.aborted; turn++) {
      const isAcknowledged = await attempt(message, urls[turn % urls.length] as string).catch(() => {
        load.unanswered++
        return false
      })
      if (isAcknowledged) return
      await wait(repeatAfterMs)
    }
    load.unfinished.push(message.reference)
  }

  const timer = setInterval(() => {
    if (open.size >= maxOpen) return
    const sent: Promise<void> = send(count++).finally(() => open.delete(sent))
    open.add(sent)
  }, everyMs)

  load.stop = async () => {
    clearInterval(timer)
    await Promise.all(open)
  }
  return load
}
