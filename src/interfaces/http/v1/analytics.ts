import type { ReadAnalytics } from '../../analytics/read-analytics.ts'
import { Analytics, AnalyticsQuery } from '../../analytics/shapes.ts'
import { refusing, tenantByHeader } from '../../ground/refused-fields.ts'
import { defineRoute, type Route } from '../route.ts'

const Query = refusing(AnalyticsQuery.extend({}), {
  channel: 'The figures count both channels.',
  environment: 'The key decides the environment.',
  tenant_id: tenantByHeader,
})

export const analyticsRoutes = ({ read }: { read: ReadAnalytics }): Route[] => [
  defineRoute({
    method: 'GET',
    path: '/analytics',
    tag: 'Analytics',
    scope: 'read:analytics',
    operationId: 'getAnalytics',
    summary: 'Get figures of messages',
    description:
      "Counts the messages of the key's environment and tenant by what happened to them. Everything that happens to a message counts for the UTC day on which it was sent. The figures include what happened until now.",
    query: Query,
    responses: { 200: { schema: Analytics, description: 'The figures.' } },
    handle: async ({ caller, query }) => ({ status: 200, body: await read(caller, query) }),
  }),
]
