/** Gives each request a span, which continues the trace of its `traceparent` header. */
import type { FastifyInstance } from 'fastify'
import { runInSpan, startSpan, type TraceSpan } from '../../platform/ground/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null while tracing is off. */
    span: TraceSpan | null
  }
}

/** Probes and scrapes come every few seconds, and nothing follows from them. */
const untraced: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

const single = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : undefined

export const traceRequests = (app: FastifyInstance): void => {
  app.decorateRequest('span', null)
  app.addHook('onRequest', (request, _reply, done) => {
    const route = request.routeOptions.url ?? 'unknown'
    if (untraced.has(route)) return done()
    const { method } = request
    request.span =
      startSpan({
        kind: 'server',
        name: `${method} ${route}`,
        fields: { 'http.request.method': method, 'http.route': route, 'tidings.request_id': request.id },
        parent: single(request.headers.traceparent),
      }) ?? null
    if (request.span) runInSpan(request.span, done)
    else done()
  })
  // The events of the body do not belong to the span, so the handler enters it again.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.span) runInSpan(request.span, done)
    else done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { span } = request
    if (span) {
      span.set({
        'http.response.status_code': reply.statusCode,
        'tidings.org_id': request.who?.orgId ?? undefined,
      })
      if (reply.statusCode >= 500) span.fail(String(reply.statusCode))
      span.end()
    }
    done()
  })
}
