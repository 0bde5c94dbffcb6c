/** /api/internal/tenants. Suspending, restoring and erasing need an API key. */
import { z } from 'zod'
import type { CreateTenants } from '../../../customers/tenants/create.ts'
import type { TenantLifecycle } from '../../../customers/tenants/lifecycle.ts'
import {
  CreateTenant,
  PatchQuota,
  PatchTenant,
  readExternalRef,
  Tenant,
  tenantStatuses,
} from '../../../customers/tenants/shapes.ts'
import type { ReadUsage } from '../../../customers/usage/read.ts'
import { UsageReport } from '../../../customers/usage/shapes.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { scopeOf } from '../actor.ts'
import { listed, listedFound, ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { quotas, tenants } from '../shown-resources.ts'
import { periodOf, periodQuery } from '../usage-period.ts'
import { environmentFilter, listOf, listQuery, optionalFilter, searchFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

const path = '/api/internal/tenants'

const ListQuery = listQuery().extend({
  external_ref: optionalFilter(z.string().max(1_000)),
  status: optionalFilter(z.enum(tenantStatuses)),
  /** A part of a name, slug, reference or id. The other filters do not apply to a search. */
  q: searchFilter,
})

/** An action, or fields to change. */
const ChangeTenant = PatchTenant.extend({ action: z.literal('unsuspend').optional() }).refine(
  ({ action, ...fields }) => action === undefined || Object.keys(fields).length === 0,
  { path: ['action'], message: 'Send an action without other fields.' },
)

const routes = memberRoutes(tenants, { path })

type Needs = { create: CreateTenants; lifecycle: TenantLifecycle }
type Usage = { clock: Clock; usage: ReadUsage }

const readRoutes = ({ lifecycle }: Needs, { clock, usage }: Usage): DashboardRoute[] => [
  defineRoute('GET', path, bySession('requireSession'), {
    query: ListQuery,
    responses: { 200: listOf(Tenant) },
    handle: async ({ session: { orgId }, query }) => {
      const { status = null, q } = query
      if (q !== undefined) return listedFound(await lifecycle.search(orgId, q, query), tenants.show)
      const externalRef = readExternalRef(query.external_ref)
      const rows = await lifecycle.list({ orgId, tenantId: null }, { externalRef, status }, query)
      return listed(rows, query.limit, tenants.show)
    },
  }),
  routes.get({ action: lifecycle.get }),
  defineRoute('GET', `${path}/{id}/usage`, bySession('requireSession'), {
    params: { id: 'tenant' },
    query: periodQuery.extend({ environment: environmentFilter }),
    responses: { 200: UsageReport },
    handle: async ({ session, params, query }) => {
      const { orgId } = session
      const { environment = 'live' } = query
      const period = periodOf(query.period, clock.now())
      const { id: tenantId } = await lifecycle.get(scopeOf(session), params.id)
      return ok(await usage({ orgId, tenantId, environment, period, byKey: false }))
    },
  }),
]

const changeRoutes = ({ create, lifecycle }: Needs): DashboardRoute[] => [
  routes.create({ body: CreateTenant, action: create.create }),
  routes.change({
    body: ChangeTenant,
    path: `${path}/{id}`,
    action: (scope, actor, id, { action, ...fields }) =>
      action === 'unsuspend' ? lifecycle.unsuspend(scope, actor, id) : lifecycle.patch(scope, actor, id, fields),
  }),
  memberRoutes(quotas, { path }).change({
    path: `${path}/{id}/quota`,
    body: PatchQuota,
    action: lifecycle.patchQuota,
  }),
  routes.change({
    method: 'DELETE',
    path: `${path}/{id}`,
    action: lifecycle.archive,
  }),
]

export const dashboardTenantRoutes = (needs: Needs, usage: Usage): DashboardRoute[] => [
  ...readRoutes(needs, usage),
  ...changeRoutes(needs),
]
