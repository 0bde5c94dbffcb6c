/** Sends one message every few milliseconds, in turn to each API process, whether or not earlier ones were answered. */
import type { DrillServices } from './processes.ts'
import { stopping } from './progress.ts'
import type { Acknowledged, Refused } from './tally.ts'

export type DrillLoad = {
  acknowledged: Acknowledged[]
  /** Sends whose response is an error. */
  refused: Refused[]
  /** Requests without a response. Their messages may or may not be sent. */
  unanswered: number
  /** Sends that were accepted without a rate limit, because Redis did not answer. */
  unlimited: number
  /** When the last send with a rate limit was accepted. */
  limitedAt: number
  /** Ends the load and waits for the last responses. */
  stop(): Promise<void>
}

const everyMs = 25
const timeoutMs = 20_000
const maxOpen = 1_500

export const startLoad = ({ urls, key }: Pick<DrillServices, 'urls' | 'key'>): DrillLoad => {
  const load: DrillLoad = {
    acknowledged: [],
    refused: [],
    unanswered: 0,
    unlimited: 0,
    limitedAt: 0,
    stop: async () => undefined,
  }
  const open = new Set<Promise<void>>()
  let count = 0

  /** Every second message is sent by a worker, a moment later. */
  const send = async (n: number): Promise<void> => {
    const [reference, scheduled] = [`send-${n}`, n % 4 < 2]
    const sentAt = Date.now()
    const body = {
      from: 'hello@example.test',
      to: [`${reference}@reader.test`],
      subject: 'A subject',
      text: 'Hi',
      ...(scheduled && { scheduled_at: new Date(Date.now() + 2_000).toISOString() }),
    }
    const response = await fetch(`${urls[n % urls.length]}/api/v1/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), stopping]),
    })
    const answer = (await response.json()) as { id?: string; error?: { code?: string } }
    if (response.ok && answer.id !== undefined) {
      load.acknowledged.push({ reference, id: answer.id, at: Date.now(), scheduled })
      if (response.headers.has('x-ratelimit-limit')) load.limitedAt = Date.now()
      else load.unlimited++
      return
    }
    const { status } = response
    load.refused.push({ reference, status, code: answer.error?.code ?? '', sentAt, at: Date.now() })
  }

  const timer = setInterval(() => {
    if (open.size >= maxOpen) return
    const sent: Promise<void> = send(count++)
      .catch(() => {
        load.unanswered++
      })
      .finally(() => open.delete(sent))
    open.add(sent)
  }, everyMs)

  load.stop = async () => {
    clearInterval(timer)
    await Promise.all(open)
  }
  return load
}
