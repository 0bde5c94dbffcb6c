import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { Serve } from './call.ts'
import type { Admitted, Door } from './door.ts'
import { envelope, flatBody, flatStatus, fromFramework, headersOf, malformed } from './envelope.ts'
import type { Metrics } from './metrics.ts'
import type { Route } from './route.ts'

declare module 'fastify' {
  interface FastifyRequest {
    admitted: Admitted | null
  }
}

const megabyte = 1_048_576
const json = 'application/json; charset=utf-8'
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** `/v1/…` names the same routes as `/api/v1/…`. */
const unalias = (url: string): string => (/^\/v1(?=[/?]|$)/.test(url) ? `/api${url}` : url)

const isFlat = (url: string): boolean => url.startsWith('/api/internal') || url.startsWith('/api/auth')
const isPublicApi = (url: string): boolean => /^\/api\/v1(?=[/?]|$)/.test(url)

export type ServerNeeds = {
  routes: readonly Route[]
  door: Door
  serve: Serve
  log: Log
  metrics: Metrics
  requestTimeoutMs: number
}

const refuse = (reply: FastifyReply, request: FastifyRequest, failure: Failure): FastifyReply => {
  const flat = isFlat(request.url)
  return reply
    .code(flat ? flatStatus(failure) : failure.status)
    .headers(headersOf(failure))
    .header('x-request-id', request.id)
    .type(json)
    .send(flat ? flatBody(failure) : envelope(failure, request.id))
}

/** Bytes that never became a request: there is no reply to send, only a socket to write to. */
const answerBrokenRequest = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const failure =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Failure('PAYLOAD_TOO_LARGE', { message: 'The request headers are larger than 16 KB.' })
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? malformed('The request did not arrive in time.')
        : malformed('This is not a valid HTTP request.')
  const id = newId('request')
  const body = envelope(failure, id)
  socket.end(
    `HTTP/1.1 ${failure.status} ${failure.status === 413 ? 'Content Too Large' : 'Unprocessable Content'}\r\n` +
      `Content-Type: ${json}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${id}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  )
}

export const makeServer = (needs: ServerNeeds): FastifyInstance => {
  const { routes, door, serve, log, metrics, requestTimeoutMs } = needs

  const toFailure = (error: unknown): Failure => {
    if (error instanceof Failure) return error
    const known = fromFramework(error as { code?: string })
    return known ?? new Failure('INTERNAL_ERROR', { cause: error })
  }

  const answerError = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const failure = toFailure(error)
    if (failure.code === 'INTERNAL_ERROR') {
      log.error(
        { err: failure.cause ?? failure, request_id: request.id, route: request.routeOptions.url },
        'request failed',
      )
    }
    return refuse(reply, request, failure)
  }

  /** Nothing is served here. Only a known caller is told so; a stranger learns no path. */
  const answerUnknown = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    try {
      if (isPublicApi(request.url)) await door.admit(request, reply, undefined)
      throw new Failure('NOT_FOUND')
    } catch (error) {
      return answerError(error, request, reply)
    }
  }

  const app = Fastify({
    logger: false,
    genReqId: () => newId('request'),
    requestIdHeader: false,
    bodyLimit: 6 * megabyte,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: true,
    http: {
      maxHeaderSize: 16_384,
      headersTimeout: Math.min(requestTimeoutMs, 15_000),
      connectionsCheckingInterval: Math.max(100, Math.min(2_000, requestTimeoutMs / 4)),
    },
    rewriteUrl: (request: IncomingMessage) => unalias(request.url ?? '/'),
    clientErrorHandler: answerBrokenRequest,
    // A path that cannot even be decoded never reaches the router.
    frameworkErrors: (_error, request, reply) => {
      void answerUnknown(request, reply as unknown as FastifyReply)
    },
  })

  app.decorateRequest('admitted', null)
  app.removeAllContentTypeParsers()
  // Bodies stay bytes until the gates before them have passed; the call parses them.
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown'
    metrics.request(request.method, route, reply.statusCode, reply.elapsedTime / 1000)
    log.info({
      request_id: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      org_id: request.admitted?.caller.orgId,
      key_id: request.admitted?.caller.keyId,
    })
    done()
  })
  // A connection that was busy when the service began to stop is kept alive by its client; it is let go of as
  // soon as its answer is out, or it would hold up the stop for as long as the client likes.
  let letGo: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    letGo = setInterval(() => app.server.closeIdleConnections(), 50)
  })
  app.addHook('onClose', async () => clearInterval(letGo))
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(answerUnknown)

  const served = new Map<string, string[]>()
  for (const route of routes) {
    const url = `/api/v1${route.path.replace(/\{(\w+)\}/g, ':$1')}`
    served.set(url, [...(served.get(url) ?? []), route.method])
    app.route({
      method: route.method,
      url,
      bodyLimit: route.bodyLimit ?? 6 * megabyte,
      onRequest: async (request, reply) => {
        request.admitted = await door.admit(request, reply, route)
      },
      handler: async (request, reply) => {
        const text = await serve(route, request, reply, request.admitted as Admitted)
        reply.type(json)
        return text
      },
    })
  }

  // A known path with another method says which ones it takes, after the same gates as an unknown path.
  for (const [url, taken] of served) {
    const allow = taken.includes('GET') ? [...taken, 'HEAD'] : taken
    app.route({
      method: methods.filter((method) => !taken.includes(method)),
      url,
      exposeHeadRoute: false,
      onRequest: async (request, reply) => {
        request.admitted = await door.admit(request, reply, undefined)
        throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: allow.sort().join(', ') } })
      },
      handler: () => undefined,
    })
  }
  return app
}
