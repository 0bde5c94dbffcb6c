/** Sign-in with Google, GitHub and any OpenID Connect issuer: the redirect to the provider and the way back. */
import { z } from 'zod'
import type { ProviderSignIn } from '../../../people/signin/provider-sign-in.ts'
import {
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
import { bySession, type DashboardRoute, defineRoute, type RouteResponse } from '../route.ts'
import { fromOf, signedInCookies } from './auth.ts'
import { makeTrips, Returned, tripSeconds } from './sealed-trips.ts'

type ProviderNeeds = {
  clock: Clock
  log: Log
  vault: Vault
  cookies: Cookies
  baseUrl: () => string
  providers: readonly SignInProvider[]
  providerSignIn: ProviderSignIn
}

export const redirect = (location: string, cookies: string[]): RouteResponse => ({
  status: 302,
  headers: { location },
  cookies,
})

const routesOf = (id: ProviderId, needs: ProviderNeeds): DashboardRoute[] => {
  const { log, cookies, baseUrl, providers, providerSignIn } = needs
  const trips = makeTrips(needs, 'cookie service_oauth', { provider: z.string() })
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
        const trip = trips.begin({ provider: id }, query.redirect_to)
        try {
          const url = await provider.start(`${baseUrl()}${callback}`, trip)
          return redirect(url.href, [cookies.set(providerCookie, trips.seal(trip), tripSeconds)])
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
        const trip = trips.open(cookieOf(call.headers.cookie, providerCookie), ({ provider }) => provider === id)
        if (!trip) return back('oauth_failed')
        const returned = new URL(`${baseUrl()}${callback}`)
        for (const [name, value] of Object.entries(call.query)) returned.searchParams.set(name, value)
        try {
          const identity = await provider.finish(returned, trip)
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
