/** /api/internal/analytics: figures of messages by day, job or subject variant. */
import { z } from 'zod'
import { channels } from '../../../platform/ground/channel.ts'
import type { ReadAnalytics } from '../../../reports/analytics/read-analytics.ts'
import { Analytics, AnalyticsQuery } from '../../../reports/analytics/shapes.ts'
import { scopeOf } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { environmentFilter, optionalFilter, tenantFilter } from './list-query.ts'

const Query = AnalyticsQuery.extend({
  channel: optionalFilter(z.enum(channels)),
  /** Live unless it says otherwise: figures of tests would falsify the rates. */
  environment: environmentFilter,
  tenant_id: tenantFilter,
})

export const dashboardAnalyticsRoutes = ({ read }: { read: ReadAnalytics }): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/analytics', bySession('requireSession'), {
    query: Query,
    responses: { 200: Analytics },
    handle: async ({ session, query: { environment, tenant_id: tenantId = null, ...query } }) =>
      ok(await read({ ...scopeOf(session, environment), tenantId }, query)),
  }),
]
