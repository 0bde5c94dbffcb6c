/** /api/internal/analytics: figures of messages by day, job or subject variant. */
import { z } from 'zod'
import type { ReadAnalytics } from '../../analytics/read-analytics.ts'
import { Analytics, AnalyticsQuery } from '../../analytics/shapes.ts'
import { channels } from '../../ground/channel.ts'
import { type DashboardRoute, defineDashboardRoute } from './dashboard-route.ts'
import { environmentFilter, optionalFilter, tenantFilter } from './filters.ts'
import { scopeOf } from './member-scope.ts'

const Query = AnalyticsQuery.extend({
  channel: optionalFilter(z.enum(channels)),
  /** Live unless it says otherwise: figures of tests would falsify the rates. */
  environment: environmentFilter,
  tenant_id: tenantFilter,
})

export const dashboardAnalyticsRoutes = ({ read }: { read: ReadAnalytics }): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/analytics',
    gate: 'requireSession',
    query: Query,
    responses: { 200: Analytics },
    handle: async ({ session, query: { environment, tenant_id: tenantId = null, ...query } }) => ({
      status: 200,
      body: await read({ ...scopeOf(session, environment), tenantId }, query),
    }),
  }),
]
