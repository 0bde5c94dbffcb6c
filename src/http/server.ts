/** The HTTP server: finds the route of each request, admits it, serves it, and turns errors into responses. */
import type { IncomingMessage } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { AdmitRequest, Admitted } from './admit-request.ts'
import { answerBrokenRequest, jsonType, notHttp } from './broken-request.ts'
import type { Serve } from './call.ts'
import { closeConnectionsOnStop } from './close-connections.ts'
import { drainBody } from './drain-body.ts'
import { envelope, flatBody, flatStatus, fromFramework, headersOf } from './envelope.ts'
import type { Metrics } from './metrics.ts'
import { isLeftUnread, type ReadBody } from './read-body.ts'
import type { Route } from './route.ts'
import { codingFault, isUnambiguous } from './unambiguous.ts'

declare module 'fastify' {
  interface FastifyRequest {
    admitted: Admitted | null
  }
}

const megabyte = 1_048_576
const defaultBodyLimit = 6 * megabyte

/** Reduces an absolute target to its path, and rewrites `/v1/…` to `/api/v1/…`. */
const rewrite = (url: string): string => {
  const target = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(?=([/?#]?))/i, (_, next) => (next === '/' ? '' : '/'))
  return /^\/v1(?=[/?#]|$)/.test(target) ? `/api${target}` : target
}

/** The path as the router reads it: without query and fragment, and with percent-encoded ASCII decoded. */
const pathOf = (url: string): string =>
  (url.split(/[?#]/, 1)[0] as string).replace(/%([2-7][0-9a-f])/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )

const isFlat = (url: string): boolean => /^\/api\/(?:internal|auth)(?=\/|$)/.test(pathOf(url))
const isPublicApi = (url: string): boolean => /^\/api\/v1(?=\/|$)/.test(pathOf(url))

export type ServerNeeds = {
  routes: readonly Route[]
  admit: AdmitRequest
  serve: Serve
  log: Log
  metrics: Metrics
  requestTimeoutMs: number
  readBody: ReadBody
}

const sendFailure = (reply: FastifyReply, request: FastifyRequest, failure: Failure): FastifyReply => {
  const flat = isFlat(request.url)
  return reply
    .code(flat ? flatStatus(failure) : failure.status)
    .headers(headersOf(failure))
    .header('x-request-id', request.id)
    .type(jsonType)
    .send(flat ? flatBody(failure) : envelope(failure, request.id))
}

const toFailure = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  const known = fromFramework(error as { code?: string })
  return known ?? new Failure('INTERNAL_ERROR', { cause: error })
}

type SendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

const makeSendError =
  (log: Log): SendError =>
  (error, request, reply) => {
    const failure = toFailure(error)
    if (failure.code === 'INTERNAL_ERROR') {
      log.error(
        { err: failure.cause ?? failure, request_id: request.id, route: request.routeOptions.url },
        'request failed',
      )
    }
    return sendFailure(reply, request, failure)
  }

const hasParameters = ({ path }: Route): boolean => path.includes('{')
const urlOf = ({ path }: Route): string => `/api/v1${path}`

type KnownPath = { pattern: RegExp; methods: string[] }

/** The methods of each path. Literal paths come before those with a parameter in the same position. */
const knownPaths = (routes: readonly Route[]): KnownPath[] => {
  const literal = routes.filter((route) => !hasParameters(route))
  const byUrl = Map.groupBy([...literal, ...routes.filter(hasParameters)], urlOf)
  return [...byUrl].map(([url, sameUrl]) => {
    const methods: string[] = sameUrl.map(({ method }) => method)
    if (methods.includes('GET')) methods.push('HEAD')
    const literals = url.split(/\{\w+\}/).map(RegExp.escape)
    return { pattern: new RegExp(`^${literals.join('[^/]+')}$`), methods: methods.sort() }
  })
}

type RejectUnknown = (request: FastifyRequest, reply: FastifyReply) => Promise<never>

/** Rejects a request that no route serves. Under /api/v1 it is admitted first: without a valid key, paths stay hidden. */
const makeRejectUnknown = ({ routes, admit }: Pick<ServerNeeds, 'routes' | 'admit'>): RejectUnknown => {
  const known = knownPaths(routes)
  return async (request, reply) => {
    if (!isPublicApi(request.url)) throw new Failure('NOT_FOUND')
    request.admitted = await admit(request, reply, undefined)
    const path = pathOf(request.url)
    const allow = known.find(({ pattern }) => pattern.test(path))?.methods
    // If the path supports the method, the router rejected something else about the URL: that is a 404, not a 405.
    if (!allow || allow.includes(request.method)) throw new Failure('NOT_FOUND')
    throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: allow.join(', ') } })
  }
}

const makeFastify = (requestTimeoutMs: number, rejectUnknown: RejectUnknown, sendError: SendError): FastifyInstance =>
  Fastify({
    logger: false,
    genReqId: () => newId('request'),
    requestIdHeader: false,
    bodyLimit: defaultBodyLimit,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: true,
    http: {
      maxHeaderSize: 16_384,
      // An onRequest hook rejects a missing or ambiguous Host header instead, with the usual error body.
      requireHostHeader: false,
      headersTimeout: Math.min(requestTimeoutMs, 15_000),
      connectionsCheckingInterval: Math.max(100, Math.min(2_000, requestTimeoutMs / 4)),
    },
    rewriteUrl: (request: IncomingMessage) => rewrite(request.url ?? '/'),
    clientErrorHandler: answerBrokenRequest,
    // A path that cannot be decoded never reaches the router.
    frameworkErrors: (_error, request, reply) => {
      const own = reply as unknown as FastifyReply
      rejectUnknown(request, own).catch((error) => sendError(error, request, own))
    },
  })

const addRequestChecks = (app: FastifyInstance, rejectUnknown: RejectUnknown): void => {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (!isUnambiguous(request.raw, request.originalUrl)) {
      reply.header('connection', 'close')
      done(notHttp())
    } else if (request.is404) {
      // Before the body is read: its type and size must not reveal whether a path exists.
      rejectUnknown(request, reply).catch(done)
    } else done()
  })
  // After the request is admitted and before its body is read. These methods have no body that the service reads.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const fault = ['GET', 'HEAD', 'OPTIONS'].includes(request.method) ? undefined : codingFault(request.headers)
    if (fault) done(fault)
    else done(null, payload)
  })
}

const logResponses = (app: FastifyInstance, { log, metrics }: Pick<ServerNeeds, 'log' | 'metrics'>): void => {
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
}

type RoutesNeeds = Pick<ServerNeeds, 'routes' | 'admit' | 'serve'>

const addRoutes = (app: FastifyInstance, { routes, admit, serve }: RoutesNeeds, rejectUnknown: RejectUnknown): void => {
  const literalPaths = new Set(routes.filter((route) => !hasParameters(route)).map(urlOf))
  for (const route of routes) {
    app.route({
      method: route.method,
      url: urlOf(route).replace(/\{(\w+)\}/g, ':$1'),
      bodyLimit: route.bodyLimit ?? defaultBodyLimit,
      onRequest: async (request, reply) => {
        // When a literal path does not support a method, the router reads its last segment as an id.
        if (route.params && literalPaths.has(pathOf(request.url))) await rejectUnknown(request, reply)
        request.admitted = await admit(request, reply, route)
      },
      handler: async (request, reply) => {
        const text = await serve(route, request, reply, request.admitted as Admitted)
        reply.type(jsonType)
        return text
      },
    })
  }
}

export const makeServer = (needs: ServerNeeds): FastifyInstance => {
  const sendError = makeSendError(needs.log)
  const rejectUnknown = makeRejectUnknown(needs)
  const app = makeFastify(needs.requestTimeoutMs, rejectUnknown, sendError)

  // Node would respond to an unknown Expect header with an empty 417. The header is ignored instead.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  app.decorateRequest('admitted', null)
  app.removeAllContentTypeParsers()
  // Bodies stay bytes until the request is admitted. The call parses them.
  app.addContentTypeParser('application/json', needs.readBody)

  addRequestChecks(app, rejectUnknown)
  logResponses(app, needs)
  closeConnectionsOnStop(app)
  app.setErrorHandler((error: { code?: string }, request, reply) =>
    isLeftUnread(error) || error.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
      ? drainBody(request.raw).then(() => sendError(error, request, reply))
      : sendError(error, request, reply),
  )
  app.setNotFoundHandler(rejectUnknown)
  addRoutes(app, needs, rejectUnknown)
  return app
}
