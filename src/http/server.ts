import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { AdmitRequest, Admitted } from './admit-request.ts'
import type { Serve } from './call.ts'
import { envelope, flatBody, flatStatus, fromFramework, headersOf, malformed } from './envelope.ts'
import type { Metrics } from './metrics.ts'
import { endRest, letRestPass } from './rest-of-body.ts'
import type { Route } from './route.ts'

declare module 'fastify' {
  interface FastifyRequest {
    admitted: Admitted | null
  }
}

const megabyte = 1_048_576
const json = 'application/json; charset=utf-8'

/** A target may name the whole address, and `/v1/…` names the same routes as `/api/v1/…`. */
const rewrite = (url: string): string => {
  const target = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(?=([/?#]?))/i, (_, next) => (next === '/' ? '' : '/'))
  return /^\/v1(?=[/?#]|$)/.test(target) ? `/api${target}` : target
}

/** The path as the router reads it: an encoded letter is that letter, and a fragment is no part of it. */
const pathOf = (url: string): string =>
  (url.split(/[?#]/, 1)[0] as string).replace(/%([2-7][0-9a-f])/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )

const isFlat = (url: string): boolean => /^\/api\/(?:internal|auth)(?=\/|$)/.test(pathOf(url))
const isPublicApi = (url: string): boolean => /^\/api\/v1(?=\/|$)/.test(pathOf(url))

export type ServerNeeds = {
  routes: readonly Route[]
  door: AdmitRequest
  serve: Serve
  log: Log
  metrics: Metrics
  requestTimeoutMs: number
}

const notHttp = (): Failure => malformed('This is not a valid HTTP request.')

const refuse = (reply: FastifyReply, request: FastifyRequest, failure: Failure): FastifyReply => {
  const flat = isFlat(request.url)
  return reply
    .code(flat ? flatStatus(failure) : failure.status)
    .headers(headersOf(failure))
    .header('x-request-id', request.id)
    .type(json)
    .send(flat ? flatBody(failure) : envelope(failure, request.id))
}

/** The answer under way on a socket; Node keeps it there and offers no other way to it. */
const underWay = (socket: Socket): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse })._httpMessage ?? undefined

/** Bytes that never became a request: there is no reply to send, only a socket to write to. */
const answerBrokenRequest = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const answer = underWay(socket)
  if (answer?.req.complete) {
    // Came behind a whole request: that one gets its own answer, which is the last on this connection.
    if (answer.headersSent) answer.once('finish', () => socket.destroySoon())
    else answer.setHeader('connection', 'close')
    return
  }
  // Already refused for its size: that is what it is told, not that its end was late or garbled.
  if (answer && endRest(answer.req)) return
  const failure =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Failure('PAYLOAD_TOO_LARGE', { message: 'The request headers are larger than 16 KB.' })
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? malformed('The request did not arrive in time.')
        : notHttp()
  const id = newId('request')
  const body = envelope(failure, id)
  socket.end(
    `HTTP/1.1 ${failure.status} ${failure.status === 413 ? 'Content Too Large' : 'Unprocessable Content'}\r\n` +
      `Content-Type: ${json}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${id}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  )
}

/** A whole request is being worked on. Other connections wait for their client, to send or to read. */
const isAtWork = (socket: Socket): boolean => {
  const answer = underWay(socket)
  return answer?.req.complete === true && !answer.writableEnded
}

/** How long a client may still take, once the service stops, to send the rest of a request or to read an answer. */
const lingerMs = 2_000

/**
 * Node stops watching over its timeouts as soon as it begins to close. Connections at work stay until their answer is
 * out; the others are let go of at once when idle, and after a while when their client keeps them waiting.
 */
const letGoOnClose = (app: FastifyInstance): void => {
  const waiting = new Map<Socket, number>()
  app.server.on('connection', (socket: Socket) => {
    waiting.set(socket, 0)
    socket.once('close', () => waiting.delete(socket))
  })
  const tickMs = 50
  let ticks: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    ticks = setInterval(() => {
      app.server.closeIdleConnections()
      for (const [socket, waitedMs] of waiting) {
        if (isAtWork(socket)) waiting.set(socket, 0)
        else if (waitedMs < lingerMs) waiting.set(socket, waitedMs + tickMs)
        else socket.destroy()
      }
    }, tickMs)
  })
  app.addHook('onClose', async () => clearInterval(ticks))
}

type Served = { pattern: RegExp; methods: string[] }

/** Which methods each path takes; one spelt out comes before one with an id in the same place. */
const servedPaths = (routes: readonly Route[]): Served[] => {
  const byPath = [...Map.groupBy(routes, (route) => route.path)]
  const speltOut = byPath.filter(([path]) => !path.includes('{'))
  return [...speltOut, ...byPath.filter(([path]) => path.includes('{'))].map(([path, there]) => {
    const methods: string[] = there.map(({ method }) => method)
    if (methods.includes('GET')) methods.push('HEAD')
    const literals = `/api/v1${path}`.split(/\{\w+\}/).map(RegExp.escape)
    return { pattern: new RegExp(`^${literals.join('[^/]+')}$`), methods: methods.sort() }
  })
}

export const makeServer = (needs: ServerNeeds): FastifyInstance => {
  const { routes, door, serve, log, metrics, requestTimeoutMs } = needs
  const served = servedPaths(routes)
  const speltOut = new Set(routes.filter(({ path }) => !path.includes('{')).map(({ path }) => `/api/v1${path}`))

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

  const onError = (error: { code?: string }, request: FastifyRequest, reply: FastifyReply) =>
    error.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
      ? letRestPass(request.raw).then(() => answerError(error, request, reply))
      : answerError(error, request, reply)

  /** Nothing is served here. Only a known caller is told so; a stranger learns no path. */
  const refuseUnknown = async (request: FastifyRequest, reply: FastifyReply): Promise<never> => {
    if (!isPublicApi(request.url)) throw new Failure('NOT_FOUND')
    request.admitted = await door.admit(request, reply, undefined)
    const path = pathOf(request.url)
    const allow = served.find(({ pattern }) => pattern.test(path))?.methods
    // A known path says which methods it takes. One that takes this method was refused for its shape.
    if (!allow || allow.includes(request.method)) throw new Failure('NOT_FOUND')
    throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: allow.join(', ') } })
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
      // Refused below, in the envelope.
      requireHostHeader: false,
      headersTimeout: Math.min(requestTimeoutMs, 15_000),
      connectionsCheckingInterval: Math.max(100, Math.min(2_000, requestTimeoutMs / 4)),
    },
    rewriteUrl: (request: IncomingMessage) => rewrite(request.url ?? '/'),
    clientErrorHandler: answerBrokenRequest,
    // A path that cannot even be decoded never reaches the router.
    frameworkErrors: (_error, request, reply) => {
      const own = reply as unknown as FastifyReply
      refuseUnknown(request, own).catch((error) => answerError(error, request, own))
    },
  })
  // Node would answer an expectation it does not know with a bare 417; it may as well be ignored.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  app.decorateRequest('admitted', null)
  app.removeAllContentTypeParsers()
  // Bodies stay bytes until the gates before them have passed; the call parses them.
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
      reply.header('connection', 'close')
      done(notHttp())
    } else if (request.is404) {
      // Before the body is looked at: whoever may not know the path learns nothing from its type or size either.
      refuseUnknown(request, reply).catch(done)
    } else done()
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
  letGoOnClose(app)
  app.setErrorHandler(onError)
  app.setNotFoundHandler(refuseUnknown)

  for (const route of routes) {
    app.route({
      method: route.method,
      url: `/api/v1${route.path.replace(/\{(\w+)\}/g, ':$1')}`,
      bodyLimit: route.bodyLimit ?? 6 * megabyte,
      onRequest: async (request, reply) => {
        // The router takes the last part of a known path for an id when the path does not take the method.
        if (route.params && speltOut.has(pathOf(request.url))) await refuseUnknown(request, reply)
        request.admitted = await door.admit(request, reply, route)
      },
      handler: async (request, reply) => {
        const text = await serve(route, request, reply, request.admitted as Admitted)
        reply.type(json)
        return text
      },
    })
  }
  return app
}
