/** The routes of the authorization server: discovery, registration, authorization, tokens, revocation. */
import { z } from 'zod'
import {
  type Authorize,
  checkResources,
  type GivenParameters,
  RefusedRequestFault,
  UnknownClientFault,
} from '../../../people/oauth/authorize.ts'
import type { IssueTokens, TokenRequest } from '../../../people/oauth/issue-tokens.ts'
import type { EndGrants, TokenSource } from '../../../people/oauth/manage-grants.ts'
import { OAuthFault } from '../../../people/oauth/oauth-error.ts'
import type { RegisterClient } from '../../../people/oauth/register-client.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { kilobyte, minuteMs } from '../../../platform/ground/units.ts'
import type { Limiter } from '../../../platform/limits/limiter.ts'
import { bucketsPerAddress, refusedUntil } from '../../../platform/limits/per-address.ts'
import { pageResponse, plainPage } from '../plain-page.ts'
import { parseJson } from '../read-request.ts'
import { byAnyone, bySession, defineRoute, type Route, type RouteResponse, type UploadedFile } from '../route.ts'
import { authorizationServer, protectedResource } from './discovery.ts'

type OAuthRouteNeeds = {
  authorize: Authorize
  register: RegisterClient
  issue: IssueTokens
  endGrants: Pick<EndGrants, 'byToken'>
  clock: Clock
  limiter: Limiter | undefined
  baseUrl: () => string
}

/** Token and revocation requests per address. */
const perMinute = 120
const formType = 'application/x-www-form-urlencoded'
/** In bytes. */
export const clientBodyLimit = 32 * kilobyte
/** The longest path that sign-in returns to. */
const maxReturn = 2_000

const parametersOf = (url: string): GivenParameters => {
  const given = new URL(url, 'http://localhost').searchParams
  return Object.fromEntries([...new Set(given.keys())].map((name) => [name, given.getAll(name)]))
}

/** A repeated parameter is refused instead of choosing one of its values. Only `resource` may be repeated. */
const readForm = ({ contentType, bytes }: UploadedFile): { fields: TokenRequest; resources: string[] } => {
  if (!/^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType)) {
    throw new OAuthFault('invalid_request', 'Send the parameters as application/x-www-form-urlencoded.')
  }
  const form = new URLSearchParams(bytes.toString('utf8'))
  const fields: Record<string, string> = Object.create(null)
  for (const [name, value] of form) {
    if (name === 'resource' || value === '') continue
    if (name in fields) throw new OAuthFault('invalid_request', `${name.slice(0, 50)} is given more than once.`)
    // No valid value has one, and the database cannot store one.
    if (value.includes('\0')) throw new OAuthFault('invalid_request', `${name.slice(0, 50)} is invalid.`)
    fields[name] = value
  }
  return { fields, resources: form.getAll('resource') }
}

const readMetadata = async ({ bytes }: UploadedFile): Promise<unknown> => {
  try {
    return await parseJson(bytes)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new OAuthFault('invalid_client_metadata', 'The body must be a JSON object.')
  }
}

const refusalReasons = {
  client: 'The program that sent you here is not registered, or the address it wants to return to is not its own.',
  length: 'The link that brought you here is too long. Sign in first, then open it again.',
}

/** For a request that cannot be sent back to its client, because the client or its address is not known. */
const refusalPage = (reason: keyof typeof refusalReasons): string =>
  plainPage({
    icon: 'warn',
    title: 'This request cannot be answered',
    body: `<p>${refusalReasons[reason]}</p>
<p>Nothing was allowed. Go back to the program that sent you here and connect it again.</p>`,
  })

const redirectTo = (location: string): RouteResponse => ({
  status: 302,
  headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
})

const documents = {
  '/.well-known/oauth-authorization-server': authorizationServer,
  '/.well-known/oauth-protected-resource': protectedResource,
  // The same document where RFC 9728 looks for it: the path of the resource after the well-known part.
  '/.well-known/oauth-protected-resource/api/mcp': protectedResource,
}

/** Where clients learn how to get a token. */
export const discoveryRoutes = (baseUrl: () => string): Route[] =>
  Object.entries(documents).map(([path, document]) =>
    defineRoute('GET', path, byAnyone, {
      responses: { 200: z.unknown() },
      handle: async () => ({
        status: 200,
        body: document(baseUrl()),
        headers: { 'cache-control': 'public, max-age=300' },
      }),
    }),
  )

/** Sends the browser to sign-in and back, then to the consent page. */
export const authorizeRoute = ({ authorize }: Pick<OAuthRouteNeeds, 'authorize'>): Route =>
  defineRoute('GET', '/authorize', bySession('public', { fromOtherSites: true }), {
    responses: { 302: null, 400: z.string() },
    handle: async ({ url, findSession }) => {
      try {
        const wanted = await authorize.check(parametersOf(url))
        const found = await findSession()
        if (found) return redirectTo(`/oauth/consent?id=${await authorize.begin(found.userId, wanted)}`)
        if (url.length > maxReturn) return pageResponse(400, refusalPage('length'))
        return redirectTo(`/login?redirect_to=${encodeURIComponent(url)}`)
      } catch (error) {
        if (error instanceof UnknownClientFault) return pageResponse(400, refusalPage('client'))
        if (error instanceof RefusedRequestFault) return redirectTo(error.location)
        throw error
      }
    },
  })

type ClientNeeds = Pick<OAuthRouteNeeds, 'register' | 'issue' | 'endGrants' | 'clock' | 'limiter' | 'baseUrl'>

/** What programs call: registration, tokens and their revocation. */
export const clientRoutes = ({ register, issue, endGrants, clock, limiter, baseUrl }: ClientNeeds): Route[] => {
  const countRequest = async (ip: string | null): Promise<void> => {
    const limit = { limit: perMinute, windowMs: minuteMs }
    const buckets = bucketsPerAddress(ip, limit, (network) => `{oauth}:token:${network}`)
    const until = refusedUntil(await limiter?.take(buckets, clock.millis()))
    if (until === undefined) return
    const retryAfter = (until - clock.millis()) / 1_000
    throw new OAuthFault('temporarily_unavailable', 'Too many requests from this address.', { status: 429, retryAfter })
  }
  const sourceOf = ({ address, userAgent }: { address: string | null; userAgent: string }): TokenSource => ({
    ip: address,
    userAgent,
  })

  return [
    defineRoute('POST', '/register', byAnyone, {
      uploads: ['application/json'],
      responses: { 201: z.unknown() },
      handle: async ({ upload, address }) => ({
        status: 201,
        body: await register(await readMetadata(upload), address),
      }),
    }),
    defineRoute('POST', '/token', byAnyone, {
      uploads: [formType],
      responses: { 200: z.unknown() },
      handle: async (call) => {
        await countRequest(call.address)
        const { fields, resources } = readForm(call.upload)
        checkResources(baseUrl(), resources)
        return { status: 200, body: await issue(fields, sourceOf(call)) }
      },
    }),
    defineRoute('POST', '/revoke', byAnyone, {
      uploads: [formType],
      responses: { 200: z.unknown() },
      handle: async (call) => {
        await countRequest(call.address)
        const { token, client_id: clientId } = readForm(call.upload).fields
        if (token === undefined) throw new OAuthFault('invalid_request', 'token is required.')
        await endGrants.byToken(token, clientId, sourceOf(call))
        return { status: 200, body: {} }
      },
    }),
  ]
}
