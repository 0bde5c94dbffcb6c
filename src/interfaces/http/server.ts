/** The HTTP server: finds the route of each request, admits it, serves it, and turns errors into responses. */
import type { IncomingMessage } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { isDatabaseFault } from '../../platform/db/faults.ts'
import { refusalInOutage } from '../../platform/db/refuse-in-outage.ts'
import { Failure, isUnlogged } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { andThen, type MaybePromise, whenDone } from '../../platform/ground/maybe-promise.ts'
import { inRequest, newRequestContext, type RequestContext } from '../../platform/ground/request-context.ts'
import { isTracing } from '../../platform/ground/tracing.ts'
import { type Area, type Door, type Doors, makeAreaOf, routeUrl } from './area.ts'
import { makeAnswerBrokenRequest, notHttp } from './broken-request.ts'
import { addStopListening, closeConnectionsOnStop } from './close-connections.ts'
import { drainBody } from './drain-body.ts'
import { bodyTooLarge, fromFramework } from './envelope.ts'
import type { ShownError } from './error-format.ts'
import { type KnownPaths, makeKnownPaths } from './known-paths.ts'
import type { Metrics } from './metrics.ts'
import { acceptEveryType, isLeftUnread, type ReadBody } from './read-body.ts'
import type { Route } from './route.ts'
import { currentSelfCall } from './self-call.ts'
import type { Serve } from './serve-route.ts'
import { refuseWhileClosing, type Stopping } from './stopping.ts'
import { traceRequests } from './trace-requests.ts'
import { codingFault, isUnambiguous } from './unambiguous.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the door of its route found out. */
    admitted: { address: string | null } | null
    /** Who sent it, once that is known: for the log, the limits on uploads, and reads after this request. */
    who: { orgId: string | null; keyId?: string; userId?: string } | null
    /** True once the request has its line in the log. */
    logged: boolean
    /** Null until the request is admitted and its body is read: before that, no request changes anything. */
    work: RequestContext | null
  }
  interface FastifyContextConfig {
    /** In bytes, if it is less than what the route reads. */
    documentedLimit?: number
    area?: Area
    databaseFault?: NonNullable<Route['databaseFault']>
    /** A GET that writes. All requests with other methods may write. */
    writes?: boolean
  }
}

/** Nearly every target, which needs no rewriting. */
const plainTarget = /^\/api\/v1(?:\/[\w-]+)+$/

/**
 * Reduces an absolute target to its path, rewrites `/v1/…` to `/api/v1/…`, and removes one slash at the end of such a
 * path, because some clients add one.
 */
const rewrite = (url: string): string => {
  if (plainTarget.test(url)) return url
  const target = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(?=([/?#]?))/i, (_, next) => (next === '/' ? '' : '/'))
  const path = /^\/v1(?=[/?#]|$)/.test(target) ? `/api${target}` : target
  return path.replace(/^(\/api\/v1\/[^?#]*[^/?#])\/(?=[?#]|$)/, '$1')
}

/** Pages for browsers at paths that no route serves. */
export interface WebPages {
  serves(request: FastifyRequest): boolean
  send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

type ServerNeeds = {
  /** The last one has an empty prefix. */
  areas: readonly Area[]
  doors: Doors
  serve: Serve
  log: Log
  metrics: Metrics
  requestTimeoutMs: number
  readBody: ReadBody
  stopping: Stopping
  /** Called with the org and the user of a request that may have written, before its response is sent. */
  wrote?: ((subjects: readonly string[]) => void | Promise<void>) | undefined
  web?: WebPages | undefined
}

const send = (reply: FastifyReply, request: FastifyRequest, contentType: string, shown: ShownError): FastifyReply =>
  reply.code(shown.status).headers(shown.headers).header('x-request-id', request.id).type(contentType).send(shown.body)

const toFailure = (error: unknown, { routeOptions, work }: FastifyRequest): Failure => {
  if (error instanceof Failure) return error
  const known = fromFramework(error as { code?: string })
  if (known) return known
  const { databaseFault } = routeOptions.config
  if (databaseFault && isDatabaseFault(error)) return databaseFault(error)
  return refusalInOutage(error, work) ?? new Failure('INTERNAL_ERROR', { cause: error })
}

/** What the log says about every request. */
const loggedFields = (request: FastifyRequest, reply: FastifyReply, status: number) => ({
  request_id: request.id,
  method: request.method,
  route: request.routeOptions.url ?? 'unknown',
  status,
  ms: Math.round(reply.elapsedTime * 10) / 10,
  org_id: request.who?.orgId ?? undefined,
  key_id: request.who?.keyId,
  user_id: request.who?.userId,
})

type SendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

const makeSendError =
  (log: Log, areaOf: (url: string) => Area): SendError =>
  (error, request, reply) => {
    const { config } = request.routeOptions
    const { format } = config.area ?? areaOf(request.url)
    const own = format.showOwn?.(error)
    if (own) return send(reply, request, format.contentType, own)
    const failure = toFailure(error, request)
    if (isUnlogged(failure)) {
      // Logged now and not with the response, because a client that has gone gets no response.
      request.logged = true
      log.error({ ...loggedFields(request, reply, failure.status), err: failure.cause ?? failure }, 'request failed')
    }
    return send(reply, request, format.contentType, format.show(failure, request.id))
  }

type RejectUnknown = (request: FastifyRequest, reply: FastifyReply) => Promise<never>

const makeFastify = (
  { requestTimeoutMs, log }: ServerNeeds,
  rejectUnknown: RejectUnknown,
  sendError: SendError,
): FastifyInstance =>
  Fastify({
    logger: false,
    genReqId: () => currentSelfCall()?.requestId ?? newId('request'),
    requestIdHeader: false,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // `refuseWhileClosing` sends that response instead, with the usual error body.
    return503OnClosing: false,
    exposeHeadRoutes: true,
    // An id of any length reaches its route, which reports it like every other malformed id.
    routerOptions: { maxParamLength: 16_384 },
    http: {
      maxHeaderSize: 16_384,
      // An onRequest hook rejects a missing or ambiguous Host header instead, with the usual error body.
      requireHostHeader: false,
      headersTimeout: Math.min(requestTimeoutMs, 15_000),
      connectionsCheckingInterval: Math.max(100, Math.min(2_000, requestTimeoutMs / 4)),
    },
    rewriteUrl: (request: IncomingMessage) => rewrite(request.url ?? '/'),
    clientErrorHandler: makeAnswerBrokenRequest(log),
    // A path that cannot be decoded never reaches the router.
    frameworkErrors: (_error, request, reply) => {
      const own = reply as unknown as FastifyReply
      rejectUnknown(request, own).catch((error) => sendError(error, request, own))
    },
  })

const addRequestChecks = (
  app: FastifyInstance,
  rejectUnknown: RejectUnknown,
  isPage: (request: FastifyRequest) => boolean,
): void => {
  app.addHook('onRequest', (request, reply, done) => {
    if (!isUnambiguous(request.raw, request.originalUrl)) {
      reply.header('connection', 'close')
      done(notHttp())
    } else if (request.is404 && !isPage(request)) {
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

/** After the body is read, because its events do not belong to the context of the request. */
const followRequests = (app: FastifyInstance): void => {
  app.addHook('preValidation', (request, _reply, done) => {
    request.work = newRequestContext(request.id)
    inRequest(request.work, done)
  })
}

const logResponses = (app: FastifyInstance, { log, metrics }: Pick<ServerNeeds, 'log' | 'metrics'>): void => {
  app.addHook('onResponse', (request, reply, done) => {
    const fields = loggedFields(request, reply, reply.statusCode)
    metrics.request(fields.method, fields.route, fields.status, reply.elapsedTime / 1000)
    if (!request.logged) log.info(fields, 'request')
    done()
  })
}

/** After all work and before the response, because the client may read as soon as it has the response. */
const markWrites = (app: FastifyInstance, wrote: ServerNeeds['wrote']): void => {
  if (!wrote) return
  app.addHook('onSend', async (request) => {
    const { who, method, routeOptions } = request
    if (['GET', 'HEAD', 'OPTIONS'].includes(method) && !routeOptions.config.writes) return
    const subjects = [who?.orgId, who?.userId].filter((id) => typeof id === 'string')
    if (subjects.length > 0) await wrote(subjects)
  })
}

type RoutesNeeds = Pick<ServerNeeds, 'areas' | 'doors' | 'serve' | 'readBody'> & {
  known: KnownPaths
  rejectUnknown: RejectUnknown
}

const addRoute = (app: FastifyInstance, area: Area, route: Route, needs: RoutesNeeds): void => {
  const { doors, serve, known, rejectUnknown } = needs
  const door: Door = doors[route.access.by]
  app.route({
    method: route.method,
    url: routeUrl(area, route).replace(/\{(\w+)\}/g, ':$1'),
    exposeHeadRoute: !route.acts,
    bodyLimit: route.bodyLimit ?? area.bodyLimit,
    config: {
      area,
      ...(route.oversize && { documentedLimit: route.oversize.above }),
      ...(route.databaseFault && { databaseFault: route.databaseFault }),
      ...(route.acts && { writes: true }),
    },
    // With callbacks, because nearly every request is admitted without waiting for anything.
    onRequest: (request, reply, done) => {
      // When a literal path does not support a method, the router reads its last segment as an id.
      const isLiteral = route.params && known.isLiteral(request.url)
      const admitting = (): MaybePromise<void> =>
        andThen(door.admit(request, reply, route), (admitted) => {
          request.admitted = admitted
        })
      whenDone(isLiteral ? () => rejectUnknown(request, reply) : admitting, done)
    },
    handler: (request, reply) => serve(route, area, door, request, reply),
  })
}

/** How the body of a route arrives decides which scope it is added to. */
const addRoutes = (app: FastifyInstance, needs: RoutesNeeds): void => {
  const { areas, readBody } = needs
  for (const area of areas) {
    for (const route of area.routes) {
      if (route.uploads) app.register(async (scope) => addRoute(acceptEveryType(scope, readBody), area, route, needs))
      else if (route.form) {
        app.register(async (scope) => {
          scope.addContentTypeParser('application/x-www-form-urlencoded', readBody)
          addRoute(scope, area, route, needs)
        })
      } else addRoute(app, area, route, needs)
    }
  }
}

export const makeServer = (needs: ServerNeeds): FastifyInstance => {
  const { areas, web } = needs
  const areaOf = makeAreaOf(areas)
  const known = makeKnownPaths(areas)
  const sendError = makeSendError(needs.log, areaOf)
  const rejectUnknown: RejectUnknown = (request, reply) => known.refuse(areaOf(request.url), request, reply)
  const isPage = (request: FastifyRequest): boolean =>
    web?.serves(request) === true && !known.hasOtherMethods(areaOf(request.url), request)
  const app = makeFastify(needs, rejectUnknown, sendError)

  // Node would respond to an unknown Expect header with an empty 417. The header is ignored instead.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  app.decorateRequest('admitted', null)
  app.decorateRequest('who', null)
  app.decorateRequest('logged', false)
  app.decorateRequest('work', null)
  app.removeAllContentTypeParsers()
  // Bodies stay bytes until the request is admitted. The call parses them.
  app.addContentTypeParser('application/json', needs.readBody)

  if (isTracing()) traceRequests(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  refuseWhileClosing(app, needs.stopping)
  addRequestChecks(app, rejectUnknown, isPage)
  followRequests(app)
  logResponses(app, needs)
  markWrites(app, needs.wrote)
  closeConnectionsOnStop(app)
  addStopListening(app)
  app.setErrorHandler((error: { code?: string }, request, reply) => {
    // Forms are read by Fastify, all other bodies by `readBody`.
    const tooLarge = error.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
    const shown = tooLarge ? bodyTooLarge(request.routeOptions.bodyLimit) : error
    if (!tooLarge && !isLeftUnread(error)) return sendError(shown, request, reply)
    return drainBody(request.raw).then(() => sendError(shown, request, reply))
  })
  app.setNotFoundHandler((request, reply) =>
    web && isPage(request) ? web.send(request, reply) : rejectUnknown(request, reply),
  )
  addRoutes(app, { ...needs, known, rejectUnknown })
  return app
}
