/** The routes of the dashboard, under /api/internal and /api/auth. Add a new route here. */
import { accountRoutes } from '../http/dashboard/account.ts'
import { dashboardKeyRoutes } from '../http/dashboard/api-keys.ts'
import { authRoutes } from '../http/dashboard/auth.ts'
import { type Cookies, makeCookies } from '../http/dashboard/cookies.ts'
import type { DashboardRoute } from '../http/dashboard/dashboard-route.ts'
import { sessionPolicyRoutes } from '../http/dashboard/session-policy.ts'
import { providerRoutes } from '../http/dashboard/sign-in-providers.ts'
import type { Foundation } from './foundation.ts'
import type { People } from './people.ts'
import type { Platform } from './platform.ts'

export const makeDashboardCookies = ({ config, baseUrl }: Foundation): Cookies =>
  makeCookies(() => config.production || baseUrl.read().startsWith('https:'))

type Needs = { foundation: Foundation; platform: Platform; people: People }

export const makeDashboardRoutes = ({ foundation, platform, people }: Needs): DashboardRoute[] => {
  const { db, clock, log, vault } = foundation
  const cookies = makeDashboardCookies(foundation)
  return [
    ...authRoutes({ ...people, cookies, sessions: platform.sessions }),
    ...providerRoutes({ ...people, clock, log, vault, cookies, baseUrl: foundation.baseUrl.read }),
    ...accountRoutes(people),
    ...sessionPolicyRoutes(people),
    ...dashboardKeyRoutes({ db, clock }),
  ]
}
