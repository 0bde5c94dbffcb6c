/**
 * Spans of the work of this process. Nothing is recorded until a tracer is in use. The fields of a span are a closed
 * list of names without room for addresses, content or secrets.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/** `server`: a request that we receive. `client`: one that we make. `consumer`: work from a queue. */
export type SpanKind = 'server' | 'client' | 'consumer'

export const spanFieldNames = [
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'error.type',
  'tidings.request_id',
  'tidings.org_id',
  'tidings.message_id',
  'tidings.channel',
  'tidings.provider',
  'tidings.outcome',
  'tidings.event',
  'tidings.delivery_id',
  'tidings.attempt',
] as const

export type SpanFields = { [Name in (typeof spanFieldNames)[number]]?: string | number | undefined }

export interface TraceSpan {
  /** The span as a `traceparent` header of W3C Trace Context. */
  readonly traceparent: string
  set(fields: SpanFields): void
  /** Marks the span as failed. The reason is a code, never the text of an error: that may contain an address. */
  fail(reason: string): void
  end(): void
}

export type SpanStart = { kind: SpanKind; name: string; fields: SpanFields; parent: string | undefined }

interface Tracer {
  start(span: SpanStart): TraceSpan
}

const current = new AsyncLocalStorage<TraceSpan>()
let tracer: Tracer | undefined

export const isTracing = (): boolean => tracer !== undefined

/** Returns the function that stops using the tracer. */
export const startTracing = (used: Tracer): (() => void) => {
  tracer = used
  return () => {
    if (tracer === used) tracer = undefined
  }
}

export const currentTraceparent = (): string | undefined =>
  tracer === undefined ? undefined : current.getStore()?.traceparent

/** Undefined while tracing is off. Without a parent, the span belongs to the current one. */
export const startSpan = (span: SpanStart): TraceSpan | undefined =>
  tracer?.start({ ...span, parent: span.parent ?? currentTraceparent() })

export const runInSpan = <T>(span: TraceSpan, work: () => T): T => current.run(span, work)

export type SpanOptions = Omit<SpanStart, 'parent'> & { parent?: string | null | undefined }

/** Runs the work in a span, or without one while tracing is off. `failure` names the reason of an error. */
export const inSpan = async <T>(
  { parent, ...options }: SpanOptions,
  work: (span: TraceSpan | undefined) => Promise<T>,
  failure: (error: unknown) => string = () => 'error',
): Promise<T> => {
  const span = startSpan({ ...options, parent: parent ?? undefined })
  if (span === undefined) return work(undefined)
  try {
    return await runInSpan(span, () => work(span))
  } catch (error) {
    span.fail(failure(error))
    throw error
  } finally {
    span.end()
  }
}

const traceparentParts = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
/** Longer headers are not a traceparent of any version that we can read. */
const longestTraceparent = 256

type TraceParent = { traceId: string; spanId: string; traceFlags: number }

/** Undefined when the header is invalid, which starts a new trace. Only the first version ends after the flags. */
export const readTraceparent = (text: string | undefined): TraceParent | undefined => {
  if (text === undefined || text.length > longestTraceparent) return undefined
  const [, version, traceId, spanId, flags, rest] = traceparentParts.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === '00' && rest !== undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}
