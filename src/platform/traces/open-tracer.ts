/** Exports spans with the SDK of OpenTelemetry over OTLP. The SDK is loaded only when an endpoint is configured. */
import type { Attributes, Span as OtelSpan } from '@opentelemetry/api'
import type { TracingConfig } from '../ground/config/config.ts'
import type { Log } from '../ground/log.ts'
import { readTraceparent, type SpanFields, type SpanStart, type TraceSpan } from '../ground/tracing.ts'
import { readServiceVersion } from '../ground/version.ts'

type Needs = { config: TracingConfig; log: Log; delayMs?: number }

/** Spans that wait for their export. Further ones are dropped, so a slow collector costs no memory. */
const maxQueueSize = 2_048
const exportTimeoutMs = 5_000

const traceparentOf = (span: OtelSpan): string => {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, '0')}`
}

export const openTracer = async ({ config, log, delayMs = 5_000 }: Needs) => {
  const [api, sdk, exporter, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({
      'service.name': config.serviceName,
      'service.version': readServiceVersion(),
    }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(config.ratio) }),
    spanLimits: { attributeCountLimit: 32, attributeValueLengthLimit: 256 },
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: new exporter.OTLPTraceExporter({
          url: `${config.endpoint}/v1/traces`,
          headers: config.headers,
          timeoutMillis: exportTimeoutMs,
        }),
        maxQueueSize,
        scheduledDelayMillis: delayMs,
        exportTimeoutMillis: exportTimeoutMs,
      }),
    ],
  })
  const tracer = provider.getTracer('tidings', readServiceVersion())
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT, consumer: api.SpanKind.CONSUMER }

  const wrap = (span: OtelSpan): TraceSpan => ({
    traceparent: traceparentOf(span),
    set: (fields: SpanFields) => {
      span.setAttributes(fields as Attributes)
    },
    fail: (reason) => {
      span.setAttribute('error.type', reason)
      span.setStatus({ code: api.SpanStatusCode.ERROR })
    },
    end: () => span.end(),
  })

  return {
    start: ({ kind, name, fields, parent }: SpanStart): TraceSpan => {
      const from = readTraceparent(parent)
      const context = from ? api.trace.setSpanContext(api.ROOT_CONTEXT, { ...from, isRemote: true }) : api.ROOT_CONTEXT
      return wrap(tracer.startSpan(name, { kind: kinds[kind], attributes: fields as Attributes }, context))
    },
    /** Exports what has ended, and gives up after a few seconds. */
    close: async (): Promise<void> => {
      await provider.shutdown().catch((error: Error) => log.warn({ reason: error.message }, 'traces not exported'))
    },
  }
}
