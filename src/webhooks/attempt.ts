import { type Clock, systemClock } from '../platform/ground/clock.ts'
import { inSpan, type TraceSpan } from '../platform/ground/tracing.ts'
import { type GuardedAgent, OutgoingFault } from '../platform/outgoing/guarded.ts'
import type { Attempt } from './delivery-shapes.ts'
import { type SignedDelivery, signedHeaders } from './sign-delivery.ts'
import type { SigningSecrets } from './webhook-secret.ts'

const timeoutMs = 10_000
export const keptBytes = 1_024

/** The response body as text that PostgreSQL can store: no NUL characters, at most 1 KB. */
export const responseText = (bytes: Buffer): string => {
  // With `stream`, an incomplete character at the end is dropped.
  const text = new TextDecoder('utf-8').decode(bytes, { stream: true }).replaceAll('\0', '\ufffd')
  if (Buffer.byteLength(text) <= keptBytes) return text
  return new TextDecoder('utf-8').decode(Buffer.from(text).subarray(0, keptBytes), { stream: true })
}

export const succeeded = ({ error, response_status: status }: Attempt): boolean =>
  error === null && status !== null && status >= 200 && status < 300

export type DeliveryTarget = { url: string; secrets: SigningSecrets }

export type AttemptDelivery = (endpoint: DeliveryTarget, delivery: SignedDelivery, nth: number) => Promise<Attempt>

type Needs = {
  agent: Pick<GuardedAgent, 'request'>
  clock: Clock
  /** Receivers compare the signed time with their own clock, so it is not that of the development tools. */
  realClock?: Clock
}

/** Signs and sends a delivery once. The returned attempt contains the receiver's error; only our own errors throw. */
export const makeAttemptDelivery = ({ agent, clock, realClock = systemClock }: Needs): AttemptDelivery => {
  const sendOnce = async (
    { url, secrets }: DeliveryTarget,
    delivery: SignedDelivery,
    nth: number,
    span: TraceSpan | undefined,
  ): Promise<Attempt> => {
    const at = clock.now()
    const startedAt = performance.now()
    const attemptWith = (result: Pick<Attempt, 'response_status' | 'response_body' | 'error'>): Attempt => ({
      attempt: nth,
      at: at.toISOString(),
      duration_ms: Math.round(performance.now() - startedAt),
      ...result,
    })
    try {
      const signed = signedHeaders(delivery, secrets, realClock.millis())
      const { status, body } = await agent.request(url, {
        method: 'POST',
        headers: span ? { ...signed, traceparent: span.traceparent } : signed,
        body: delivery.payload,
        timeoutMs,
        maxBytes: keptBytes,
      })
      return attemptWith({ response_status: status, response_body: responseText(body), error: null })
    } catch (error) {
      if (!(error instanceof OutgoingFault)) throw error
      return attemptWith({ response_status: null, response_body: null, error: error.kind })
    }
  }

  return (target, delivery, nth) => {
    const fields = { 'tidings.event': delivery.event, 'tidings.delivery_id': delivery.id, 'tidings.attempt': nth }
    const options = { kind: 'client' as const, name: 'webhook attempt', fields, parent: delivery.traceparent }
    return inSpan(options, async (span) => {
      const attempt = await sendOnce(target, delivery, nth, span)
      if (attempt.response_status !== null) span?.set({ 'http.response.status_code': attempt.response_status })
      if (!succeeded(attempt)) span?.fail(attempt.error ?? 'rejected')
      return attempt
    })
  }
}
