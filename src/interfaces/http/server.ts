/** The HTTP server: finds the route of each request, admits it, serves it, and turns errors into responses. */
import type { IncomingMessage } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { isDatabaseFault } from '../db/faults.ts'
import { refusalInOutage } from '../db/refuse-in-outage.ts'
import { Failure, isUnlogged } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import { andThen, type MaybePromise, whenDone } from '../ground/maybe-promise.ts'
import { inRequest, newRequestContext, type RequestContext } from '../ground/request-context.ts'
import { isTracing } from '../ground/tracing.ts'
import type { AdmitRequest, Admitted } from './admit-request.ts'
import { jsonType, makeAnswerBrokenRequest, notHttp } from './broken-request.ts'
import type { Serve } from './call.ts'
import { addStopListening, closeConnectionsOnStop } from './close-connections.ts'
import { drainBody } from './drain-body.ts'
import { bodyTooLarge, envelope, flatBody, flatStatus, fromFramework, headersOf } from './envelope.ts'
import type { Metrics } from './metrics.ts'
import { acceptEveryType, isLeftUnread, type ReadBody } from './read-body.ts'
import type { Route } from './route.ts'
import { scimContentType, scimFailureBody, scimStatus } from './scim-error.ts'
import { currentSelfCall } from './self-call.ts'
import { refuseWhileClosing, type Stopping } from './stopping.ts'
import { traceRequests } from './trace-requests.ts'
import { codingFault, isUnambiguous } from './unambiguous.ts'

declare module 'fastify' {
  interface FastifyRequest {
    admitted: Admitted | null
    /** The user of a request that a browser session authenticated. */
    signedIn: { userId: string; orgId: string | null } | null
    /** True once the request has its line in the log. */
    logged: boolean
    /** Null until the request is admitted and its body is read: before that, no request changes anything. */
    work: RequestContext | null
  }
  interface FastifyContextConfig {
    /** In bytes, if it is less than what the route reads. */
    documentedLimit?: number
    databaseFault?: NonNullable<Route['databaseFault']>
    /** A GET that writes. All requests with other methods may write. */
    writes?: boolean
  }
}

const megabyte = 1_048_576
const defaultBodyLimit = 6 * megabyte

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

/** The path as the router reads it: without query and fragment, and with percent-encoded ASCII decoded. */
const pathOf = (url: string): string =>
  (url.split(/[?#]/, 1)[0] as string).replace(/%([2-7][0-9a-f])/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )

const isFlat = (url: string): boolean => /^\/api\/(?:internal|auth)(?=\/|$)/.test(pathOf(url))
const isDirectory = (url: string): boolean => /^\/scim\/v2(?=\/|$)/.test(pathOf(url))
/** Routes for OAuth clients, which expect errors in the form of the standards. */
const isForOAuthClients = (url: string): boolean => /^\/api\/oauth\/(?:register|token|revoke)$/.test(pathOf(url))
const isPublicApi = (url: string): boolean => /^\/api\/v1(?=\/|$)/.test(pathOf(url))

/** Pages for browsers at paths that no route serves. */
export interface WebPages {
  serves(request: FastifyRequest): boolean
  send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

export type ServerNeeds = {
  routes: readonly Route[]
  admit: AdmitRequest
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

const sendFailure = (reply: FastifyReply, request: FastifyRequest, failure: Failure): FastifyReply => {
  const flat = isFlat(request.url)
  if (isDirectory(request.url)) {
    return reply
      .code(scimStatus(failure))
      .headers(headersOf(failure))
      .header('x-request-id', request.id)
      .type(scimContentType)
      .send(scimFailureBody(failure))
  }
  if (failure.code === 'UNAVAILABLE' && isForOAuthClients(request.url)) {
    return reply
      .code(failure.status)
      .headers(headersOf(failure))
      .header('x-request-id', request.id)
      .type(jsonType)
      .send({ error: 'temporarily_unavailable', error_description: failure.message })
  }
  return reply
    .code(flat ? flatStatus(failure) : failure.status)
    .headers(headersOf(failure))
    .header('x-request-id', request.id)
    .type(jsonType)
    .send(flat ? flatBody(failure) : envelope(failure, request.id))
}

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
  org_id: request.admitted?.caller.orgId ?? request.signedIn?.orgId ?? undefined,
  key_id: request.admitted?.caller.keyId,
  user_id: request.signedIn?.userId,
})

type SendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

const makeSendError =
  (log: Log): SendError =>
  (error, request, reply) => {
    const failure = toFailure(error, request)
    if (isUnlogged(failure)) {
      // Logged now and not with the response, because a client that has gone gets no response.
      request.logged = true
      log.error({ ...loggedFields(request, reply, failure.status), err: failure.cause ?? failure }, 'request failed')
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

const makeFastify = (
  { requestTimeoutMs, log }: ServerNeeds,
  rejectUnknown: RejectUnknown,
  sendError: SendError,
): FastifyInstance =>
  Fastify({
    logger: false,
    genReqId: () => currentSelfCall()?.requestId ?? newId('request'),
    requestIdHeader: false,
    bodyLimit: defaultBodyLimit,
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

const addRequestChecks = (app: FastifyInstance, rejectUnknown: RejectUnknown, web?: WebPages): void => {
  app.addHook('onRequest', (request, reply, done) => {
    if (!isUnambiguous(request.raw, request.originalUrl)) {
      reply.header('connection', 'close')
      done(notHttp())
    } else if (request.is404 && !web?.serves(request)) {
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
    const { admitted, signedIn, method, routeOptions } = request
    if (['GET', 'HEAD', 'OPTIONS'].includes(method) && !routeOptions.config.writes) return
    const subjects = [admitted?.caller.orgId, signedIn?.orgId, signedIn?.userId].filter((id) => typeof id === 'string')
    if (subjects.length > 0) await wrote(subjects)
  })
}

type RoutesNeeds = Pick<ServerNeeds, 'routes' | 'admit' | 'serve' | 'readBody'>

const addRoutes = (app: FastifyInstance, needs: RoutesNeeds, rejectUnknown: RejectUnknown): void => {
  const { routes, admit, serve, readBody } = needs
  const literalPaths = new Set(routes.filter((route) => !hasParameters(route)).map(urlOf))
  for (const route of routes) {
    const add = (scope: FastifyInstance): void => {
      scope.route({
        method: route.method,
        url: urlOf(route).replace(/\{(\w+)\}/g, ':$1'),
        bodyLimit: route.bodyLimit ?? defaultBodyLimit,
        config: {
          ...(route.oversize && { documentedLimit: route.oversize.above }),
          ...(route.databaseFault && { databaseFault: route.databaseFault }),
        },
        // With callbacks, because nearly every request is admitted without waiting for anything.
        onRequest: (request, reply, done) => {
          // When a literal path does not support a method, the router reads its last segment as an id.
          const isLiteral = route.params && literalPaths.has(pathOf(request.url))
          const admitting = (): MaybePromise<void> =>
            andThen(admit(request, reply, route), (admitted) => {
              request.admitted = admitted
            })
          whenDone(isLiteral ? () => rejectUnknown(request, reply) : admitting, done)
        },
        handler: async (request, reply) => {
          const served = await serve(route, request, reply, request.admitted as Admitted)
          reply.type(typeof served === 'string' ? jsonType : served.contentType)
          return typeof served === 'string' ? served : served.content
        },
      })
    }
    if (route.uploads) app.register(async (scope) => add(acceptEveryType(scope, readBody)))
    else add(app)
  }
}

export const makeServer = (needs: ServerNeeds): FastifyInstance => {
  const sendError = makeSendError(needs.log)
  const rejectUnknown = makeRejectUnknown(needs)
  const app = makeFastify(needs, rejectUnknown, sendError)

  // Node would respond to an unknown Expect header with an empty 417. The header is ignored instead.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  app.decorateRequest('admitted', null)
  app.decorateRequest('signedIn', null)
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
  addRequestChecks(app, rejectUnknown, needs.web)
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
    needs.web?.serves(request) ? needs.web.send(request, reply) : rejectUnknown(request, reply),
  )
  addRoutes(app, needs, rejectUnknown)
  return app
}
