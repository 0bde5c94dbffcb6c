/** Serves /scim/v2: admits the directory by its token, reads the body within bounds, and sends SCIM responses. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isDatabaseFault } from '../../db/faults.ts'
import { unavailable } from '../../db/refuse-in-outage.ts'
import type { Clock } from '../../ground/clock.ts'
import { Failure } from '../../ground/errors.ts'
import type { Log } from '../../ground/log.ts'
import { withRequestId } from '../../ground/request-context.ts'
import type { Bucket, Limiter } from '../../limits/limiter.ts'
import { bucketsPerAddress, refusedUntil } from '../../limits/per-address.ts'
import type { DirectoryCaller, ManageScimTokens } from '../../scim/manage-tokens.ts'
import { ScimFault } from '../../scim/scim-fault.ts'
import { callerAddress, type ProxyTrust } from '../caller-address.ts'
import { acceptEveryType, type ReadBody } from '../read-body.ts'
import { parseJson, readQuery } from '../read-request.ts'
import { scimContentType, scimErrorBody } from '../scim-error.ts'
import type { ScimAnswer, ScimRoute } from './scim-routes.ts'

const prefix = '/scim/v2'
const bodyLimit = 1_048_576
/** A group with all its members has four values for each: an object, its value, its display name and a reference. */
const bounds = { depth: 20, values: 50_000 }
const perMinute = 600

type Needs = {
  routes: readonly ScimRoute[]
  tokens: Pick<ManageScimTokens, 'find'>
  limiter: Limiter | undefined
  clock: Clock
  log: Log
  proxies: ProxyTrust
  readBody: ReadBody
  baseUrl: () => string
  /** Called with the org after a request that may have written. */
  wrote?: ((subjects: readonly string[]) => void | Promise<void>) | undefined
}

const unauthorized = (): Failure =>
  new Failure('UNAUTHORIZED', {
    message:
      'The directory token is missing or invalid. Send it in the Authorization header: "Authorization: Bearer <token>".',
    headers: { 'www-authenticate': 'Bearer' },
  })

type Admit = (request: FastifyRequest) => Promise<DirectoryCaller>

/** Neither a session nor an API key counts here. */
const makeAdmit = ({ tokens, limiter, clock, proxies }: Needs): Admit => {
  const limit = { limit: perMinute, windowMs: 60_000 }
  const count = async (buckets: Bucket[]): Promise<void> => {
    const now = clock.millis()
    const until = refusedUntil(await limiter?.take(buckets, now))
    if (until === undefined) return
    throw new Failure('RATE_LIMITED', {
      message: `At most ${perMinute} requests per minute are allowed. Try again later.`,
      retryAfter: (until - now) / 1000,
    })
  }
  return async (request) => {
    const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
    const caller = token === undefined ? undefined : await tokens.find(token)
    if (!caller) {
      const address = callerAddress(request.raw, proxies)
      await count(bucketsPerAddress(address, limit, (network) => `{scim}:refused:${network}`))
      throw unauthorized()
    }
    await count([{ ...limit, name: `{${caller.orgId}}:scim:${caller.tokenId}` }])
    return caller
  }
}

const jsonTypes = /^application\/(?:scim\+)?json\s*(?:;|$)/i

const bodyOf = async (request: FastifyRequest): Promise<unknown> => {
  const bytes = request.body as Buffer | undefined
  if (!['POST', 'PUT', 'PATCH'].includes(request.method)) return undefined
  if (!bytes || bytes.length === 0) throw new ScimFault(400, 'The request has no body.', 'invalidSyntax')
  if (!jsonTypes.test(request.headers['content-type'] ?? '')) {
    throw new Failure('UNSUPPORTED_MEDIA_TYPE', { message: 'The body must be application/scim+json.' })
  }
  return parseJson(bytes, bounds)
}

const headerOf = (request: FastifyRequest, name: 'if-match' | 'if-none-match'): string | undefined =>
  request.headers[name]

const send = (reply: FastifyReply, { status, body, headers }: ScimAnswer): string => {
  reply.code(status).header('cache-control', 'no-store')
  if (headers) reply.headers(headers)
  if (body === undefined) return ''
  reply.type(scimContentType)
  return JSON.stringify(body)
}

const sendFault = (reply: FastifyReply, { status, message, scimType }: ScimFault): string => {
  reply.code(status).header('cache-control', 'no-store').type(scimContentType)
  return scimErrorBody(status, message, scimType)
}

const addRoute = (
  scope: FastifyInstance,
  route: ScimRoute,
  { baseUrl, proxies }: Needs,
  callers: WeakMap<FastifyRequest, DirectoryCaller>,
): void => {
  const run = async (request: FastifyRequest): Promise<ScimAnswer> =>
    route.handle({
      orgId: (callers.get(request) as DirectoryCaller).orgId,
      actor: {
        kind: 'nobody',
        ip: callerAddress(request.raw, proxies),
        userAgent: request.headers['user-agent'] ?? '',
      },
      base: `${baseUrl()}${prefix}`,
      query: readQuery(request.query),
      id: (request.params as { id?: string }).id ?? '',
      body: await bodyOf(request),
      ifMatch: headerOf(request, 'if-match'),
      ifNoneMatch: headerOf(request, 'if-none-match'),
    })
  scope.route({
    method: route.method,
    url: route.path,
    bodyLimit,
    handler: (request, reply) =>
      withRequestId(request.id, async () => {
        try {
          return send(reply, await run(request))
        } catch (error) {
          if (error instanceof ScimFault) return sendFault(reply, error)
          throw error
        }
      }),
  })
}

/** Only a directory with a token learns which paths and methods exist. */
const makeRefuseUnknown = (routes: readonly ScimRoute[]) => {
  const known = [...Map.groupBy(routes, ({ path }) => path)].map(([path, same]) => ({
    pattern: new RegExp(`^${prefix}${path.replace(':id', '[^/]+')}$`),
    methods: same.map(({ method }) => method as string),
  }))
  return async (request: FastifyRequest): Promise<never> => {
    const path = request.url.split(/[?#]/, 1)[0] as string
    const methods = known.find(({ pattern }) => pattern.test(path))?.methods
    if (!methods || methods.includes(request.method)) {
      throw new Failure('NOT_FOUND', { message: 'There is no such resource.' })
    }
    throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: [...methods].sort().join(', ') } })
  }
}

/** A directory repeats a request that gets a 503, and gives up on one that gets a 500. */
const makeFaultOf =
  (log: Log) =>
  (error: unknown, request: FastifyRequest): unknown => {
    if (!isDatabaseFault(error)) return error
    log.error({ request_id: request.id, err: error }, 'directory request failed')
    return unavailable(error, { message: 'The service cannot reach its database. Repeat the request.', logged: true })
  }

export const serveDirectory = (app: FastifyInstance, needs: Needs): void => {
  const { routes, readBody, log } = needs
  const faultOf = makeFaultOf(log)
  const admit = makeAdmit(needs)
  const callers = new WeakMap<FastifyRequest, DirectoryCaller>()
  const refuseUnknown = makeRefuseUnknown(routes)
  app.register(
    async (scope) => {
      acceptEveryType(scope, readBody)
      scope.setErrorHandler((error, request) => {
        throw faultOf(error, request)
      })
      scope.addHook('onRequest', async (request) => {
        callers.set(request, await admit(request))
      })
      scope.addHook('onSend', async (request) => {
        const caller = callers.get(request)
        if (caller && request.method !== 'GET') await needs.wrote?.([caller.orgId])
      })
      for (const route of routes) addRoute(scope, route, needs, callers)
      for (const url of ['/', '/*']) scope.all(url, { onRequest: refuseUnknown }, refuseUnknown)
    },
    { prefix },
  )
}
