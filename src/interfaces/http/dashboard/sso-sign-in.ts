/** Sign-in through the identity provider of an org: /api/auth/saml and /api/auth/sso. */
import { z } from 'zod'
import type { SsoRequired } from '../../../customers/accounts/sso-enforcement.ts'
import type { SignedIn } from '../../../people/signin/complete-sign-in.ts'
import { redirectPath } from '../../../people/signin/shapes.ts'
import { addressBuckets, type Throttle, tooManyAttempts } from '../../../people/signin/throttle.ts'
import type { OidcSignIn } from '../../../people/sso/oidc/oidc-sign-in.ts'
import type { SamlKey } from '../../../people/sso/saml/service-key.ts'
import { serviceMetadata, serviceProviderOf } from '../../../people/sso/saml/service-provider.ts'
import type { SamlSignIn } from '../../../people/sso/saml-sign-in.ts'
import { type FindConnection, SsoFault } from '../../../people/sso/sign-in-to-org.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { Vault } from '../../../platform/ground/crypto.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Log } from '../../../platform/ground/log.ts'
import { activeOrgCookie, type Cookies, cookieOf, providerCookie } from '../cookies.ts'
import { bySession, type DashboardRoute, defineRoute, type RouteResponse } from '../route.ts'
import { fromOf, signedInCookies } from './auth.ts'
import { makeTrips, Returned, tripSeconds } from './sealed-trips.ts'
import { redirect } from './sign-in-providers.ts'

type SsoSignInNeeds = {
  connections: FindConnection
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
const ResponseForm = z.object({
  SAMLResponse: z.string().max(responseBytes).optional(),
  RelayState: z.string().max(responseBytes).optional(),
})

const makeSsoTrips = (needs: SsoSignInNeeds) =>
  makeTrips(needs, 'cookie service_oauth sso', {
    kind: z.enum(['saml', 'oidc']),
    orgId: z.string(),
    /** The SAML request. */
    requestId: z.string().optional(),
  })

const makeOutcomes = ({ log, cookies, throttle }: SsoSignInNeeds) => {
  const forget = (): string => cookies.clear(providerCookie)
  const back = (error: string): RouteResponse => redirect(`/login?error=${error}`, [forget()])
  return {
    back,
    limit: (address: string | null) =>
      throttle.require(tooManyAttempts, ...addressBuckets('sso', address, perMinute, 60_000)),
    /** The browser learns only that it failed. */
    failed: (error: unknown): RouteResponse => {
      if (!(error instanceof SsoFault)) throw error
      log.warn({ reason: error.message }, 'single sign-on failed')
      return back('sso_failed')
    },
    signedIn: (done: SignedIn | SsoRequired, orgId: string, redirectTo: string): RouteResponse => {
      if ('ssoLoginUrl' in done) return back('sso_required')
      const active = cookies.set(activeOrgCookie, orgId, yearSeconds)
      return redirect(redirectTo, [...signedInCookies(cookies, done), active, forget()])
    },
  }
}

/** Both addresses start the protocol that the org has configured. */
const startRoutes = (needs: SsoSignInNeeds): DashboardRoute[] => {
  const { connections, cookies, baseUrl, saml, oidc } = needs
  const { limit, failed } = makeOutcomes(needs)
  const trips = makeSsoTrips(needs)

  const start = async (query: z.output<typeof Start>): Promise<RouteResponse> => {
    const connection = await connections.forSignIn(query)
    const trip = trips.begin({ kind: connection.protocol, orgId: connection.org_id }, query.redirect_to)
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
    defineRoute('GET', path, bySession('public'), {
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
  const { connections, baseUrl, samlKey, saml } = needs
  const { limit, failed, signedIn } = makeOutcomes(needs)
  const trips = makeSsoTrips(needs)
  return [
    defineRoute('GET', '/api/auth/saml/metadata', bySession('public'), {
      query: z.object({ org: slug.optional() }),
      responses: { 200: z.string() },
      handle: async ({ query: { org } }) => {
        if (org !== undefined && !(await connections.hasOrg(org))) throw new Failure('NOT_FOUND')
        const body = await serviceMetadata(serviceProviderOf(baseUrl(), org), await samlKey())
        return { status: 200, body, contentType: 'application/samlmetadata+xml' }
      },
    }),
    defineRoute('POST', '/api/auth/saml/acs', bySession('public', { fromOtherSites: true }), {
      form: true,
      bodyLimit: responseBytes,
      query: z.object({ org: slug.optional() }),
      body: ResponseForm,
      responses: { 302: null },
      handle: async (call) => {
        await limit(call.address)
        const trip = trips.open(cookieOf(call.headers.cookie, providerCookie), ({ kind }) => kind === 'saml')
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
  return defineRoute('GET', callbackPath, bySession('public'), {
    query: Returned,
    responses: { 302: null },
    handle: async (call) => {
      await limit(call.address)
      const trip = trips.open(cookieOf(call.headers.cookie, providerCookie), ({ kind }) => kind === 'oidc')
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
