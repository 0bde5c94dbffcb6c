/** Registers the routes of the authorization server: discovery, registration, authorization, tokens, revocation. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../ground/clock.ts'
import { Failure } from '../../ground/errors.ts'
import { withRequestId } from '../../ground/request-context.ts'
import type { Limiter } from '../../limits/limiter.ts'
import { bucketsPerAddress, refusedUntil } from '../../limits/per-address.ts'
import {
  type Authorize,
  checkResources,
  type GivenParameters,
  RefusedRequest,
  UnknownClient,
} from '../../oauth/authorize.ts'
import type { EndGrants } from '../../oauth/end-grants.ts'
import type { IssueTokens, TokenRequest, TokenSource } from '../../oauth/issue-tokens.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import type { RegisterClient } from '../../oauth/register-client.ts'
import { jsonType } from '../broken-request.ts'
import { callerAddress, type ProxyTrust } from '../caller-address.ts'
import { plainPageHeaders } from '../plain-page.ts'
import type { ReadBody } from '../read-body.ts'
import { parseJson } from '../read-request.ts'
import { authorizationServer, protectedResource } from './discovery.ts'
import { type RefusalReason, refusalPage } from './refusal-page.ts'

export type OAuthRouteNeeds = {
  authorize: Authorize
  register: RegisterClient
  issue: IssueTokens
  endGrants: Pick<EndGrants, 'byToken'>
  /** The user who is signed in to the dashboard in this browser. */
  findSession: (request: FastifyRequest) => Promise<{ userId: string } | undefined>
  clock: Clock
  limiter: Limiter | undefined
  baseUrl: () => string
  proxies: ProxyTrust
  readBody: ReadBody
}

const kilobyte = 1_024
const minute = 60_000
/** Token and revocation requests per address. */
const perMinute = 120
/** The longest path that sign-in returns to. */
const maxReturn = 2_000

const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [String(value)])

const parametersOf = (query: unknown): GivenParameters =>
  Object.fromEntries(Object.entries(query as Record<string, unknown>).map(([name, value]) => [name, listOf(value)]))

/** A repeated parameter is refused instead of choosing one of its values. Only `resource` may be repeated. */
const readForm = (request: FastifyRequest): { fields: TokenRequest; resources: string[] } => {
  const type = request.headers['content-type'] ?? ''
  if (!/^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    throw new OAuthError('invalid_request', 'Send the parameters as application/x-www-form-urlencoded.')
  }
  const form = new URLSearchParams((request.body as Buffer | undefined)?.toString('utf8') ?? '')
  const fields: Record<string, string> = Object.create(null)
  for (const [name, value] of form) {
    if (name === 'resource' || value === '') continue
    if (name in fields) throw new OAuthError('invalid_request', `${name.slice(0, 50)} is given more than once.`)
    // No valid value has one, and the database cannot store one.
    if (value.includes('\0')) throw new OAuthError('invalid_request', `${name.slice(0, 50)} is invalid.`)
    fields[name] = value
  }
  return { fields, resources: form.getAll('resource') }
}

const readMetadata = async (request: FastifyRequest): Promise<unknown> => {
  try {
    return await parseJson((request.body as Buffer | undefined) ?? Buffer.alloc(0))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new OAuthError('invalid_client_metadata', 'The body must be a JSON object.')
  }
}

const sendOAuthError = (reply: FastifyReply, { code, message, status, retryAfter }: OAuthError): FastifyReply => {
  if (retryAfter !== undefined) reply.header('retry-after', Math.max(1, Math.ceil(retryAfter)))
  return reply.code(status).type(jsonType).send({ error: code, error_description: message })
}

/** Runs a route of clients. Its errors have the form of the standards, and no cache stores its answers. */
const forClients =
  (work: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) =>
  (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    withRequestId(request.id, async () => {
      reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
      try {
        return await work(request, reply)
      } catch (error) {
        if (error instanceof OAuthError) return sendOAuthError(reply, error)
        throw error
      }
    })

const showRefusal = (reply: FastifyReply, reason: RefusalReason): FastifyReply =>
  reply.code(400).headers(plainPageHeaders).send(refusalPage(reason))

/** Sends the browser to sign-in and back, then to the consent page. */
const makeVisit =
  ({ authorize, findSession }: OAuthRouteNeeds) =>
  (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    withRequestId(request.id, async () => {
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
      try {
        const wanted = await authorize.check(parametersOf(request.query))
        const session = await findSession(request)
        if (session) return reply.redirect(`/oauth/consent?id=${await authorize.begin(session.userId, wanted)}`, 302)
        if (request.url.length > maxReturn) return showRefusal(reply, 'length')
        return reply.redirect(`/login?redirect_to=${encodeURIComponent(request.url)}`, 302)
      } catch (error) {
        if (error instanceof UnknownClient) return showRefusal(reply, 'client')
        if (error instanceof RefusedRequest) return reply.redirect(error.location, 302)
        throw error
      }
    })

const refuseOtherMethods = (scope: FastifyInstance, url: string, allow: string): void => {
  const allowed = allow.split(', ')
  scope.route({
    method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !allowed.includes(method)),
    url,
    onRequest: async () => {
      throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow } })
    },
    handler: () => undefined,
  })
}

const addDocuments = (scope: FastifyInstance, { baseUrl }: OAuthRouteNeeds): void => {
  const documents = {
    '/.well-known/oauth-authorization-server': authorizationServer,
    '/.well-known/oauth-protected-resource': protectedResource,
    // The same document where RFC 9728 looks for it: the path of the resource after the well-known part.
    '/.well-known/oauth-protected-resource/api/mcp': protectedResource,
  }
  for (const [url, document] of Object.entries(documents)) {
    scope.get(url, async (_request, reply) =>
      reply.header('cache-control', 'public, max-age=300').type(jsonType).send(document(baseUrl())),
    )
    refuseOtherMethods(scope, url, 'GET, HEAD')
  }
}

const addClientRoutes = (scope: FastifyInstance, needs: OAuthRouteNeeds): void => {
  const { register, issue, endGrants, clock, limiter, proxies, baseUrl } = needs
  const sourceOf = (request: FastifyRequest): TokenSource => ({
    ip: callerAddress(request.raw, proxies),
    userAgent: (request.headers['user-agent'] ?? '').slice(0, 512),
  })
  const countRequest = async ({ ip }: TokenSource): Promise<void> => {
    const limit = { limit: perMinute, windowMs: minute }
    const buckets = bucketsPerAddress(ip, limit, (network) => `{oauth}:token:${network}`)
    const until = refusedUntil(await limiter?.take(buckets, clock.millis()))
    if (until === undefined) return
    const retryAfter = (until - clock.millis()) / 1_000
    throw new OAuthError('temporarily_unavailable', 'Too many requests from this address.', { status: 429, retryAfter })
  }

  const routes = {
    '/api/oauth/register': async (request: FastifyRequest, reply: FastifyReply) => {
      const client = await register(await readMetadata(request), sourceOf(request).ip)
      return reply.code(201).type(jsonType).send(client)
    },
    '/api/oauth/token': async (request: FastifyRequest, reply: FastifyReply) => {
      const source = sourceOf(request)
      await countRequest(source)
      const { fields, resources } = readForm(request)
      checkResources(baseUrl(), resources)
      return reply.type(jsonType).send(await issue(fields, source))
    },
    '/api/oauth/revoke': async (request: FastifyRequest, reply: FastifyReply) => {
      const source = sourceOf(request)
      await countRequest(source)
      const { token, client_id: clientId } = readForm(request).fields
      if (token === undefined) throw new OAuthError('invalid_request', 'token is required.')
      await endGrants.byToken(token, clientId, source)
      return reply.type(jsonType).send({})
    },
  }
  for (const [url, work] of Object.entries(routes)) {
    scope.post(url, { bodyLimit: 32 * kilobyte }, forClients(work))
    refuseOtherMethods(scope, url, 'POST')
  }
}

export const serveOAuth = (app: FastifyInstance, needs: OAuthRouteNeeds): void => {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', needs.readBody)
    addDocuments(scope, needs)
    addClientRoutes(scope, needs)
    scope.get('/api/oauth/authorize', makeVisit(needs))
    refuseOtherMethods(scope, '/api/oauth/authorize', 'GET, HEAD')
  })
}
