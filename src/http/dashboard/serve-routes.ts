/** Registers the routes of the dashboard: admits each request, validates its input, and sends what the handler returns. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../ground/clock.ts'
import { Failure, malformed } from '../../ground/errors.ts'
import { isId } from '../../ground/ids.ts'
import type { Log } from '../../ground/log.ts'
import { currentRequest, withRequestId } from '../../ground/request-context.ts'
import type { IdempotencyClaim } from '../../idempotency/claims.ts'
import type { Reads } from '../../replica/reads.ts'
import { jsonType } from '../broken-request.ts'
import { callerAddress, type ProxyTrust } from '../caller-address.ts'
import { acceptEveryType, type ReadBody } from '../read-body.ts'
import { isPosition, parseJson, readQuery, validate } from '../read-request.ts'
import { type ServedFile, servedFile } from '../served-file.ts'
import { cookieOf } from './cookies.ts'
import type {
  DashboardCall,
  DashboardResponse,
  DashboardRoute,
  MemberSession,
  SessionGate,
  UserSession,
} from './dashboard-route.ts'
import type { Entrance } from './entrance.ts'
import type { RunClaimed } from './run-claimed.ts'

type Needs = {
  routes: readonly DashboardRoute[]
  entrance: Entrance
  proxies: ProxyTrust
  readBody: ReadBody
  runClaimed: RunClaimed
  reads: Pick<Reads, 'serve'>
  clock: Clock
  log: Log
  /** For tests: checks every response against the schema that its route declares, and that reads change nothing. */
  checkResponses: boolean
}

const megabyte = 1_048_576

const checkParams = ({ params = {}, positions = [] }: DashboardRoute, given: Record<string, string>): void => {
  for (const [name, kind] of Object.entries(params)) {
    if (!isId(kind, given[name] ?? '')) throw new Failure('NOT_FOUND')
  }
  for (const name of positions) if (!isPosition(given[name] ?? '')) throw new Failure('NOT_FOUND')
}

/** A field that is given twice could be read as either of its values. */
const parseForm = (bytes: Buffer): Record<string, string> => {
  const fields = [...new URLSearchParams(bytes.toString('utf8'))]
  if (new Set(fields.map(([name]) => name)).size < fields.length) throw malformed('A field is given twice.')
  return Object.fromEntries(fields)
}

const readInput = async (route: DashboardRoute, request: FastifyRequest) => {
  const query = route.query && validate(route.query, readQuery(request.query))
  const bytes = request.body as Buffer | undefined
  const parse = route.form ? parseForm : (given: Buffer) => parseJson(given, route.bounds)
  const raw = route.body && bytes && bytes.length > 0 ? await parse(bytes) : undefined
  const empty = route.emptyPatch === 'allowed' && raw === undefined ? {} : raw
  const body = route.body && validate(route.body, empty)
  if (route.method === 'PATCH' && route.emptyPatch !== 'allowed' && body !== undefined) {
    if (Object.keys(body as object).length === 0) throw new Failure('NO_FIELDS')
  }
  const params = request.params as Record<string, string>
  checkParams(route, params)
  const upload = { contentType: request.headers['content-type'] ?? '', bytes: bytes ?? Buffer.alloc(0) }
  return { raw, query, body, params, upload }
}

const checkShape = (route: DashboardRoute, { status, body, file }: DashboardResponse): void => {
  const schema = route.responses[status]
  if (schema === undefined) throw new Error(`${route.method} ${route.path} does not declare a ${status} response`)
  if (file || schema === 'file') {
    if (!file || schema !== 'file') throw new Error(`${route.method} ${route.path} declares another body for ${status}`)
  } else if (schema === null) {
    if (body !== undefined) throw new Error(`${route.method} ${route.path} declares no body for ${status}`)
  } else schema.parse(JSON.parse(JSON.stringify(body)))
}

/** Sign-in through another party ends with a read that opens a session. */
const checkRead = ({ method, path, gate, acts }: DashboardRoute): void => {
  if (method !== 'GET' || acts || gate === 'public' || !currentRequest()?.changed) return
  throw new Error(`${method} ${path} changes something and does not declare that it acts`)
}

const send = (reply: FastifyReply, response: DashboardResponse, log: Log): string | ServedFile['content'] => {
  const { status, body, file, contentType, headers, cookies } = response
  reply.code(status)
  // A page of a signed-in user must not be found in a cache by the next user of the machine.
  reply.header('cache-control', 'no-store')
  if (headers) reply.headers(headers)
  for (const cookie of cookies ?? []) reply.header('set-cookie', cookie)
  if (file) {
    const served = servedFile(file, log)
    reply.type(served.contentType)
    return served.content
  }
  if (body === undefined) return ''
  reply.type(contentType ?? jsonType)
  if (contentType !== undefined) return String(body)
  return JSON.stringify(body)
}

type Admission = WeakMap<FastifyRequest, UserSession>

const addRoute = (app: FastifyInstance, route: DashboardRoute, needs: Needs, admitted: Admission): void => {
  const { entrance, proxies, clock, log, checkResponses, runClaimed, reads } = needs
  const onlyReads = route.method === 'GET' && !route.acts
  app.route({
    method: route.method,
    exposeHeadRoute: !route.acts,
    url: route.path.replace(/\{(\w+)\}/g, ':$1'),
    bodyLimit: route.bodyLimit ?? megabyte,
    config: { ...(route.acts && { writes: true }) },
    onRequest: async (request, reply) => {
      const session = await entrance.admit(request, reply, route)
      if (session) admitted.set(request, session)
    },
    handler: (request, reply) =>
      withRequestId(request.id, async () => {
        const { raw, ...input } = await readInput(route, request)
        const session = admitted.get(request)
        const handle = (claim?: IdempotencyClaim): Promise<DashboardResponse> => {
          const call: DashboardCall<SessionGate, unknown, unknown> = {
            session,
            ...input,
            claim,
            requestId: request.id,
            address: callerAddress(request.raw, proxies),
            userAgent: (request.headers['user-agent'] ?? '').slice(0, 512),
            header: (name) => request.headers[name]?.toString(),
            cookie: (name) => cookieOf(request.headers.cookie, name),
            findSession: () => entrance.find(request),
          }
          if (!onlyReads || !session) return route.handle(call)
          return reads.serve([session.userId, ...(session.orgId ? [session.orgId] : [])], () => route.handle(call))
        }
        const response = route.idempotent
          ? await runClaimed(request, session as MemberSession, raw, handle)
          : await handle()
        if (checkResponses) {
          checkShape(route, response)
          checkRead(route)
        }
        reply.header('x-service-time', clock.now().toISOString())
        return send(reply, response, log)
      }),
  })
}

const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path
      .split(/\{\w+\}/)
      .map(RegExp.escape)
      .join('[^/]+')}$`,
  )

/** Refuses what no route serves. Under /api/internal only a signed-in user learns which paths and methods exist. */
const addUnknown = (app: FastifyInstance, { routes, entrance }: Needs): void => {
  const known = [...Map.groupBy(routes, ({ path }) => path)].map(([path, same]) => {
    const methods: string[] = same.map(({ method }) => method)
    if (same.some(({ method, acts }) => method === 'GET' && !acts)) methods.push('HEAD')
    return { pattern: patternOf(path), methods: methods.sort() }
  })
  for (const prefix of ['/api/internal', '/api/auth']) {
    const gate: SessionGate = prefix === '/api/internal' ? 'requireUserSession' : 'public'
    const refuse = async (request: FastifyRequest, reply: FastifyReply): Promise<never> => {
      await entrance.admit(request, reply, { method: 'GET', gate })
      const path = request.url.split(/[?#]/, 1)[0] as string
      const methods = known.filter(({ pattern }) => pattern.test(path)).flatMap((found) => found.methods)
      if (methods.length === 0 || methods.includes(request.method)) throw new Failure('NOT_FOUND')
      throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: [...new Set(methods)].sort().join(', ') } })
    }
    for (const url of [prefix, `${prefix}/*`]) app.all(url, { onRequest: refuse }, refuse)
  }
}

export const serveDashboard = (app: FastifyInstance, needs: Needs): void => {
  const admitted: Admission = new WeakMap()
  for (const route of needs.routes) {
    const add = (scope: FastifyInstance): void => addRoute(scope, route, needs, admitted)
    if (route.uploads) app.register(async (scope) => add(acceptEveryType(scope, needs.readBody)))
    else if (route.form) {
      app.register(async (scope) => {
        scope.addContentTypeParser('application/x-www-form-urlencoded', needs.readBody)
        add(scope)
      })
    } else add(app)
  }
  addUnknown(app, needs)
}
