import { z } from 'zod'
import { patternText } from '../../ground/bounded-text.ts'
import type { Clock } from '../../ground/clock.ts'
import { Failure, invalid } from '../../ground/errors.ts'
import type { TenantLifecycle } from '../../tenants/lifecycle.ts'
import { isReadablePeriod, monthOf } from '../../usage/periods.ts'
import type { ReadUsage } from '../../usage/read.ts'
import { UsageReport } from '../../usage/shapes.ts'
import { defineRoute, type Route } from '../route.ts'

const periodQuery = z.object({
  period: patternText(/^\d{4}-(?:0[1-9]|1[0-2])$/, 7, 'Must be a month such as 2026-03.')
    .optional()
    .meta({ description: 'A UTC month such as `2026-03`, up to 24 months back. Defaults to the current month.' }),
})

const UsageQuery = periodQuery.extend({
  by_key: z.enum(['true', 'false']).default('false').describe('Set to `true` for a breakdown by API key.'),
})

type Needs = { clock: Clock; read: ReadUsage; tenants: Pick<TenantLifecycle, 'get'> }

export const usageRoutes = ({ clock, read, tenants }: Needs): Route[] => {
  const periodOf = (requested: string | undefined): string => {
    const period = requested ?? monthOf(clock.now())
    if (!isReadablePeriod(period, clock.now())) {
      throw invalid(['period'], 'custom', 'Must be the current month or one of the 24 before it, such as 2026-03.')
    }
    return period
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/usage',
      operationId: 'getUsage',
      tag: 'Usage',
      summary: 'Get usage',
      description:
        "Returns usage for one month in the API key's environment. Set `by_key=true` to include a breakdown by API key.",
      scope: 'read:usage',
      query: UsageQuery,
      responses: { 200: { schema: UsageReport, description: 'The usage of the month.' } },
      errors: ['BY_KEY_NOT_AVAILABLE'],
      handle: async ({ caller, query }) => {
        const period = periodOf(query.period)
        const byKey = query.by_key === 'true'
        if (byKey && caller.tenantId !== null) throw new Failure('BY_KEY_NOT_AVAILABLE')
        const { orgId, tenantId, environment } = caller
        return { status: 200, body: await read({ orgId, tenantId, environment, period, byKey }) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/tenants/{id}/usage',
      operationId: 'getTenantUsage',
      tag: 'Tenants',
      summary: "Get a tenant's usage",
      scope: ['read:usage', 'read:tenants'],
      params: { id: 'tenant' },
      query: periodQuery,
      responses: { 200: { schema: UsageReport, description: 'The usage of the tenant.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN'],
      handle: async ({ caller, params, query }) => {
        const tenantId = params.id as string
        const period = periodOf(query.period)
        await tenants.get(caller, tenantId)
        const { orgId, environment } = caller
        return { status: 200, body: await read({ orgId, tenantId, environment, period, byKey: false }) }
      },
    }),
  ]
}
