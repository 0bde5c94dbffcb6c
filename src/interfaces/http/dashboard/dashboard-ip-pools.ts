/** /api/internal/ip-pools: dedicated IP pools. */

import { CreateIpPool, PatchIpPool } from '../../../senders/domains/ip-pool-shapes.ts'
import type { ManageIpPools } from '../../../senders/domains/manage-ip-pools.ts'
import type { DashboardRoute } from '../route.ts'
import { bySession } from '../route-access.ts'
import { ipPools } from '../shown-resources.ts'
import { listQuery } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

const path = '/api/internal/ip-pools'

const routes = memberRoutes(ipPools)

type Needs = { manage: ManageIpPools }

export const dashboardIpPoolRoutes = ({ manage }: Needs): DashboardRoute[] => [
  routes.list({ path, access: bySession('requireSession'), query: listQuery(), action: manage.list }),
  routes.get({ path: `${path}/{id}`, access: bySession('requireSession'), action: manage.get }),
  routes.create({
    path,
    access: bySession('requireOwnerSession'),
    body: CreateIpPool,
    action: manage.create,
  }),
  routes.change({
    path: `${path}/{id}`,
    access: bySession('requireOwnerSession'),
    body: PatchIpPool,
    action: manage.patch,
  }),
  routes.remove({ path: `${path}/{id}`, access: bySession('requireOwnerSession'), action: manage.remove }),
]
