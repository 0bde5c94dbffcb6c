import { refusing, tenantByHeader } from '../../../platform/ground/refused-fields.ts'
import type { ReadAnalytics } from '../../../reports/analytics/read-analytics.ts'
import { Analytics, AnalyticsQuery } from '../../../reports/analytics/shapes.ts'
import { ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'

const Query = refusing(AnalyticsQuery.extend({}), {
  channel: 'The figures count both channels.',
  environment: 'The key decides the environment.',
  tenant_id: tenantByHeader,
})

export const analyticsRoutes = ({ read }: { read: ReadAnalytics }): PublicRoute[] => [
  defineRoute('GET', '/analytics', byKey('read:analytics'), {
    tag: 'Analytics',
    operationId: 'getAnalytics',
    summary: 'Get figures of messages',
    description:
      "Counts the messages of the key's environment and tenant by what happened to them. Everything that happens to a message counts for the UTC day on which it was sent. The figures include what happened until now.",
    query: Query,
    responses: { 200: { schema: Analytics, description: 'The figures.' } },
    handle: async ({ caller, query }) => ok(await read(caller, query)),
  }),
]
