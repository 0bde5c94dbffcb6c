/** Sign-in with Google, GitHub and any OpenID Connect issuer: the redirect to the provider and the way back. */

import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { ProviderSignIn } from '../../../people/signin/provider-sign-in.ts'
import {
  type Checks,
  ProviderFault,
  type ProviderId,
  type SignInProvider,
} from '../../../people/signin/providers/sign-in-provider.ts'
import { redirectPath } from '../../../people/signin/shapes.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { Vault } from '../../../platform/ground/crypto.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Log } from '../../../platform/ground/log.ts'
import { activeOrgCookie, type Cookies, cookieOf, providerCookie } from '../cookies.ts'
import { ok } from '../responses.ts'
import { type DashboardRoute, defineRoute, type RouteResponse } from '../route.ts'
import { bySession } from '../route-access.ts'
import { fromOf, signedInCookies } from './auth.ts'

export type ProviderNeeds = {
  clock: Clock
  log: Log
  vault: Vault
  cookies: Cookies
  baseUrl: () => string
  providers: readonly SignInProvider[]
  providerSignIn: ProviderSignIn
}

const roundTripSeconds = 600
const sealContext = 'cookie service_oauth'

const Trip = z.object({
  provider: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  redirectTo: z.string(),
  expires: z.number(),
})
type Trip = z.output<typeof Trip>

const random = (): string => randomBytes(32).toString('base64url')

const text = z.string().max(8_000).optional()
const Returned = z.object({ code: text, state: text, iss: text, error: text, error_description: text })

const redirect = (location: string, cookies: string[]): RouteResponse => ({
  status: 302,
  headers: { location },
  cookies,
})

/** What the browser carries to the provider and back. It is sealed, so that nobody can read or make one. */
const makeTrips = ({ clock, vault, cookies }: ProviderNeeds) => ({
  begin: (provider: ProviderId, redirectTo: string): { trip: Trip; cookie: string } => {
    const expires = clock.millis() + roundTripSeconds * 1000
    const trip = { provider, state: random(), nonce: random(), verifier: random(), redirectTo, expires }
    return {
      trip,
      cookie: cookies.set(providerCookie, vault.seal(JSON.stringify(trip), sealContext), roundTripSeconds),
    }
  },
  /** Undefined when this browser did not begin a sign-in at the provider, or too long ago. */
  end: (provider: ProviderId, sealed: string | undefined): Trip | undefined => {
    if (sealed === undefined) return undefined
    try {
      const trip = Trip.parse(JSON.parse(vault.open(sealed, sealContext)))
      return trip.provider === provider && trip.expires > clock.millis() ? trip : undefined
    } catch {
      return undefined
    }
  },
})

const routesOf = (id: ProviderId, needs: ProviderNeeds): DashboardRoute[] => {
  const { log, cookies, baseUrl, providers, providerSignIn } = needs
  const trips = makeTrips(needs)
  const callback = `/api/auth/${id}/callback`
  const forget = () => cookies.clear(providerCookie)
  const back = (error: string) => redirect(`/login?error=${error}`, [forget()])

  const configured = (): SignInProvider => {
    const provider = providers.find((one) => one.id === id)
    if (!provider) throw new Failure('NOT_FOUND')
    return provider
  }

  /** Details go to the log only: the browser learns which kind of failure it was. */
  const failed = (error: unknown): RouteResponse => {
    if (!(error instanceof ProviderFault)) throw error
    log.warn({ err: error.cause, provider: id }, 'sign-in provider failed')
    return back(error.kind === 'denied' ? 'access_denied' : 'oauth_failed')
  }

  return [
    defineRoute('GET', `/api/auth/${id}`, bySession('public'), {
      query: z.object({ redirect_to: redirectPath }),
      responses: { 302: null },
      handle: async ({ query }) => {
        const provider = configured()
        const { trip, cookie } = trips.begin(id, query.redirect_to)
        try {
          const url = await provider.start(`${baseUrl()}${callback}`, trip)
          return redirect(url.href, [cookie])
        } catch (error) {
          return failed(error)
        }
      },
    }),
    defineRoute('GET', callback, bySession('public'), {
      query: Returned,
      responses: { 302: null },
      handle: async (call) => {
        const provider = configured()
        const trip = trips.end(id, cookieOf(call.headers.cookie, providerCookie))
        if (!trip) return back('oauth_failed')
        const returned = new URL(`${baseUrl()}${callback}`)
        for (const [name, value] of Object.entries(call.query)) returned.searchParams.set(name, value)
        const checks: Checks = trip
        try {
          const identity = await provider.finish(returned, checks)
          const details = { method: id, from: fromOf(call), activeOrg: cookieOf(call.headers.cookie, activeOrgCookie) }
          const done = await providerSignIn(identity, { ...details, redirectTo: trip.redirectTo })
          if (!done) return back('email_unverified')
          if ('ssoLoginUrl' in done) return back('sso_required')
          if ('session' in done) return redirect(done.redirectTo, [...signedInCookies(cookies, done), forget()])
          return redirect(`/login/2fa?challenge_id=${done.challengeId}`, [forget()])
        } catch (error) {
          return failed(error)
        }
      },
    }),
  ]
}

export const providerRoutes = (needs: ProviderNeeds): DashboardRoute[] => [
  ...(['google', 'github', 'oidc'] as const).flatMap((id) => routesOf(id, needs)),
  defineRoute('GET', '/api/auth/providers', bySession('public'), {
    responses: { 200: z.strictObject({ data: z.array(z.strictObject({ id: z.string(), name: z.string() })) }) },
    handle: async () => ok({ data: needs.providers.map(({ id, name }) => ({ id, name })) }),
  }),
]
