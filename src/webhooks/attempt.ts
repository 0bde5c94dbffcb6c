import type { Clock } from '../ground/clock.ts'
import { type GuardedAgent, OutgoingFault } from '../outgoing/guarded.ts'
import { type Signed, signedHeaders } from './sign-delivery.ts'
import type { Attempt } from './store.ts'

const timeoutMs = 10_000
export const keptBytes = 1_024

/** What the receiver said, as text that can be stored, in at most 1 KB of it. */
export const readable = (bytes: Buffer): string => {
  // A character cut in two at the end goes whole.
  const text = new TextDecoder('utf-8').decode(bytes, { stream: true }).replaceAll('\0', '\ufffd')
  if (Buffer.byteLength(text) <= keptBytes) return text
  return new TextDecoder('utf-8').decode(Buffer.from(text).subarray(0, keptBytes), { stream: true })
}

export const succeeded = ({ error, response_status: status }: Attempt): boolean =>
  error === null && status !== null && status >= 200 && status < 300

export type AttemptDelivery = (
  endpoint: { url: string; secret: string },
  delivery: Signed,
  nth: number,
) => Promise<Attempt>

type Needs = { agent: Pick<GuardedAgent, 'request'>; clock: Clock }

/** One attempt: signed at this moment, sent, and told of whatever came of it. Never throws for the receiver's sake. */
export const makeAttemptDelivery =
  ({ agent, clock }: Needs): AttemptDelivery =>
  async ({ url, secret }, delivery, nth) => {
    const at = clock.now()
    const began = performance.now()
    const told = (part: Pick<Attempt, 'response_status' | 'response_body' | 'error'>): Attempt => ({
      attempt: nth,
      at: at.toISOString(),
      duration_ms: Math.round(performance.now() - began),
      ...part,
    })
    try {
      const { status, body } = await agent.request(url, {
        method: 'POST',
        headers: signedHeaders(delivery, secret, at.getTime()),
        body: delivery.payload,
        timeoutMs,
        maxBytes: keptBytes,
      })
      return told({ response_status: status, response_body: readable(body), error: null })
    } catch (error) {
      if (!(error instanceof OutgoingFault)) throw error
      return told({ response_status: null, response_body: null, error: error.kind })
    }
  }
