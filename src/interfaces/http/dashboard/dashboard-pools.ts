/** /api/internal/pools: messaging pools. */
import type { Scope } from '../../../platform/ground/scope.ts'
import type { ManagePools } from '../../../senders/sms/pools/manage-pools.ts'
import { CreatePool, PatchPool } from '../../../senders/sms/pools/pool-shapes.ts'
import type { DashboardRoute } from '../route.ts'
import { pools } from '../shown-resources.ts'
import { oneOrListQuery, tenantFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

const path = '/api/internal/pools'

/** Bound to no tenant. */
const untenanted = (scope: Scope) => ({ ...scope, tenantState: undefined })

const routes = memberRoutes(pools, { path, write: 'requireDeveloperSession' })

export const dashboardPoolRoutes = ({ manage }: { manage: ManagePools }): DashboardRoute[] => [
  routes.oneOrList({
    query: oneOrListQuery.extend({ tenant_id: tenantFilter }),
    get: manage.get,
    list: manage.listOwn,
  }),
  routes.create({
    body: CreatePool,
    action: (scope, actor, body) => manage.create(untenanted(scope), actor, body),
  }),
  routes.change({
    path: `${path}/{id}`,
    body: PatchPool,
    action: (scope, actor, id, body) => manage.patch(untenanted(scope), actor, id, body),
  }),
  routes.remove({
    path: `${path}/{id}`,
    action: (scope, actor, id) => manage.remove(untenanted(scope), actor, id),
  }),
]
