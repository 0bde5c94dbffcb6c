/** Sign-in through the identity provider of an org: /api/auth/saml and /api/auth/sso. */
import { z } from 'zod'
import type { SsoRequired } from '../../accounts/sso-enforcement.ts'
import type { Db } from '../../db/pool.ts'
import { lookupName } from '../../domains/name.ts'
import type { Clock } from '../../ground/clock.ts'
import type { Vault } from '../../ground/crypto.ts'
import { Failure } from '../../ground/errors.ts'
import type { Log } from '../../ground/log.ts'
import { domainPart } from '../../ground/mailbox.ts'
import type { SignedIn } from '../../signin/complete-sign-in.ts'
import { redirectPath } from '../../signin/shapes.ts'
import { addressBuckets, type Throttle, tooManyAttempts } from '../../signin/throttle.ts'
import type { OidcSignIn } from '../../sso/oidc/oidc-sign-in.ts'
import type { SamlKey } from '../../sso/saml/service-key.ts'
import { serviceMetadata, serviceProviderOf } from '../../sso/saml/service-provider.ts'
import type { SamlSignIn } from '../../sso/saml-sign-in.ts'
import { SsoFault } from '../../sso/sign-in-to-org.ts'
import {
  findConnectionByDomain,
  findConnectionBySlug,
  type NamedConnection,
  orgWithSlug,
} from '../../sso/store/connection-rows.ts'
import { fromOf, signedInCookies } from './auth.ts'
import { activeOrgCookie, type Cookies, providerCookie } from './cookies.ts'
import { type DashboardResponse, type DashboardRoute, defineDashboardRoute } from './dashboard-route.ts'
import { makeSsoTrips, tripSeconds } from './sso-trips.ts'

export type SsoSignInNeeds = {
  db: Db
  clock: Clock
  log: Log
  vault: Vault
  cookies: Cookies
  throttle: Throttle
  baseUrl: () => string
  samlKey: () => Promise<SamlKey>
  saml: SamlSignIn
  oidc: OidcSignIn
}

const slug = z.string().min(1).max(100)
const callbackPath = '/api/auth/sso/callback'
const responseBytes = 262_144
const yearSeconds = 31_536_000
/** Starts and returns, per client address. Each costs a signature, and with OpenID Connect a request to the issuer. */
const perMinute = 60

const Start = z.object({ org: slug.optional(), email: z.string().max(400).optional(), redirect_to: redirectPath })
const text = z.string().max(8_000).optional()
const Returned = z.object({ code: text, state: text, iss: text, error: text, error_description: text })
const ResponseForm = z.object({
  SAMLResponse: z.string().max(responseBytes).optional(),
  RelayState: z.string().max(responseBytes).optional(),
})

const redirect = (location: string, cookies: string[]): DashboardResponse => ({
  status: 302,
  headers: { location },
  cookies,
})

const makeOutcomes = ({ log, cookies, throttle }: SsoSignInNeeds) => {
  const forget = (): string => cookies.clear(providerCookie)
  const back = (error: string): DashboardResponse => redirect(`/login?error=${error}`, [forget()])
  return {
    back,
    limit: (address: string | null) =>
      throttle.require(tooManyAttempts, ...addressBuckets('sso', address, perMinute, 60_000)),
    /** The browser learns only that it failed. */
    failed: (error: unknown): DashboardResponse => {
      if (!(error instanceof SsoFault)) throw error
      log.warn({ reason: error.message }, 'single sign-on failed')
      return back('sso_failed')
    },
    signedIn: (done: SignedIn | SsoRequired, orgId: string, redirectTo: string): DashboardResponse => {
      if ('ssoLoginUrl' in done) return back('sso_required')
      const active = cookies.set(activeOrgCookie, orgId, yearSeconds)
      return redirect(redirectTo, [...signedInCookies(cookies, done), active, forget()])
    },
  }
}

/** Both addresses start the protocol that the org has configured. */
const startRoutes = (needs: SsoSignInNeeds): DashboardRoute[] => {
  const { db, cookies, baseUrl, saml, oidc } = needs
  const { limit, failed } = makeOutcomes(needs)
  const trips = makeSsoTrips(needs)

  const connectionFor = async ({ org, email }: z.output<typeof Start>): Promise<NamedConnection> => {
    const domain = email === undefined ? '' : lookupName(domainPart(email))
    const found =
      org === undefined
        ? await db.row(findConnectionByDomain, { domain: domain })
        : await db.row(findConnectionBySlug, { slug: org })
    if (!found) throw new SsoFault('not configured')
    return found
  }

  const start = async (query: z.output<typeof Start>): Promise<DashboardResponse> => {
    const connection = await connectionFor(query)
    const trip = trips.begin(connection.protocol, connection.org_id, query.redirect_to)
    if (connection.protocol === 'saml') {
      const { url, requestId } = await saml.start(connection)
      // The identity provider posts its response from another site.
      const sealed = trips.seal({ ...trip, requestId })
      return redirect(url, [cookies.setCrossSite(providerCookie, sealed, tripSeconds)])
    }
    const url = await oidc.start(connection, `${baseUrl()}${callbackPath}`, trip)
    return redirect(url.href, [cookies.set(providerCookie, trips.seal(trip), tripSeconds)])
  }

  return ['/api/auth/saml/login', '/api/auth/sso/login'].map((path) =>
    defineDashboardRoute({
      method: 'GET',
      path,
      gate: 'public',
      query: Start,
      responses: { 302: null },
      handle: async ({ query, address }) => {
        await limit(address)
        return start(query).catch(failed)
      },
    }),
  )
}

const samlRoutes = (needs: SsoSignInNeeds): DashboardRoute[] => {
  const { db, baseUrl, samlKey, saml } = needs
  const { limit, failed, signedIn } = makeOutcomes(needs)
  const trips = makeSsoTrips(needs)
  return [
    defineDashboardRoute({
      method: 'GET',
      path: '/api/auth/saml/metadata',
      gate: 'public',
      query: z.object({ org: slug.optional() }),
      responses: { 200: z.string() },
      handle: async ({ query: { org } }) => {
        if (org !== undefined && !(await db.row(orgWithSlug, { slug: org }))) {
          throw new Failure('NOT_FOUND')
        }
        const body = await serviceMetadata(serviceProviderOf(baseUrl(), org), await samlKey())
        return { status: 200, body, contentType: 'application/samlmetadata+xml' }
      },
    }),
    defineDashboardRoute({
      method: 'POST',
      path: '/api/auth/saml/acs',
      gate: 'public',
      fromOtherSites: true,
      form: true,
      bodyLimit: responseBytes,
      query: z.object({ org: slug.optional() }),
      body: ResponseForm,
      responses: { 302: null },
      handle: async (call) => {
        await limit(call.address)
        const trip = trips.open('saml', call.cookie(providerCookie))
        const request = trip?.requestId === undefined ? undefined : { ...trip, requestId: trip.requestId }
        const { SAMLResponse: samlResponse = '', RelayState } = call.body
        const org = call.query.org
        try {
          const returned = { slug: org, samlResponse, request, from: fromOf(call) }
          const { done, orgId, solicited } = await saml.finish(returned)
          const target = solicited ? trip?.redirectTo : RelayState
          return signedIn(done, orgId, redirectPath.parse(target))
        } catch (error) {
          return failed(error)
        }
      },
    }),
  ]
}

const oidcRoute = (needs: SsoSignInNeeds): DashboardRoute => {
  const { baseUrl, oidc } = needs
  const { limit, back, failed, signedIn } = makeOutcomes(needs)
  const trips = makeSsoTrips(needs)
  return defineDashboardRoute({
    method: 'GET',
    path: callbackPath,
    gate: 'public',
    query: Returned,
    responses: { 302: null },
    handle: async (call) => {
      await limit(call.address)
      const trip = trips.open('oidc', call.cookie(providerCookie))
      if (!trip) return back('sso_failed')
      const url = new URL(`${baseUrl()}${callbackPath}`)
      for (const [name, value] of Object.entries(call.query)) if (value !== undefined) url.searchParams.set(name, value)
      try {
        const done = await oidc.finish({ orgId: trip.orgId, url, checks: trip, from: fromOf(call) })
        return signedIn(done, trip.orgId, trip.redirectTo)
      } catch (error) {
        return failed(error)
      }
    },
  })
}

export const ssoSignInRoutes = (needs: SsoSignInNeeds): DashboardRoute[] => [
  ...startRoutes(needs),
  ...samlRoutes(needs),
  oidcRoute(needs),
]
