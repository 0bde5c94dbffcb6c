/** The routes of the dashboard, under /api/internal and /api/auth. Add a new route here. */
import { dashboardKeyRoutes } from '../http/dashboard/api-keys.ts'
import { type Cookies, makeCookies } from '../http/dashboard/cookies.ts'
import type { DashboardRoute } from '../http/dashboard/dashboard-route.ts'
import type { Foundation } from './foundation.ts'

export const makeDashboardCookies = ({ config, baseUrl }: Foundation): Cookies =>
  makeCookies(() => config.production || baseUrl.read().startsWith('https:'))

export const makeDashboardRoutes = ({ foundation }: { foundation: Foundation }): DashboardRoute[] => {
  const { db, clock } = foundation
  return [...dashboardKeyRoutes({ db, clock })]
}
