import { z } from 'zod'
import type { TenantLifecycle } from '../../../customers/tenants/lifecycle.ts'
import type { ReadUsage } from '../../../customers/usage/read.ts'
import { UsageReport } from '../../../customers/usage/shapes.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { periodOf, periodQuery } from '../usage-period.ts'

const UsageQuery = periodQuery.extend({
  by_key: z.enum(['true', 'false']).default('false').describe('Set to `true` for a breakdown by API key.'),
})

type Needs = { clock: Clock; read: ReadUsage; tenants: Pick<TenantLifecycle, 'get'> }

export const usageRoutes = ({ clock, read, tenants }: Needs): PublicRoute[] => [
  defineRoute('GET', '/usage', byKey('read:usage'), {
    operationId: 'getUsage',
    tag: 'Usage',
    summary: 'Get usage',
    description:
      "Returns usage for one month in the API key's environment. Set `by_key=true` to include a breakdown by API key.",
    query: UsageQuery,
    responses: { 200: { schema: UsageReport, description: 'The usage of the month.' } },
    errors: ['BY_KEY_NOT_AVAILABLE'],
    handle: async ({ caller, query }) => {
      const period = periodOf(query.period, clock.now())
      const byKey = query.by_key === 'true'
      if (byKey && caller.tenantId !== null) throw new Failure('BY_KEY_NOT_AVAILABLE')
      const { orgId, tenantId, environment } = caller
      return ok(await read({ orgId, tenantId, environment, period, byKey }))
    },
  }),
  defineRoute('GET', '/tenants/{id}/usage', byKey(['read:usage', 'read:tenants']), {
    operationId: 'getTenantUsage',
    tag: 'Tenants',
    summary: "Get a tenant's usage",
    params: { id: 'tenant' },
    query: periodQuery,
    responses: { 200: { schema: UsageReport, description: 'The usage of the tenant.' } },
    errors: ['NOT_FOUND', 'TENANT_FORBIDDEN'],
    handle: async ({ caller, params, query }) => {
      const tenantId = params.id
      const period = periodOf(query.period, clock.now())
      await tenants.get(caller, tenantId)
      const { orgId, environment } = caller
      return ok(await read({ orgId, tenantId, environment, period, byKey: false }))
    },
  }),
]
