/** /api/internal/ip-pools: dedicated IP pools. */
import { CreateIpPool, PatchIpPool } from '../../../senders/domains/ip-pool-shapes.ts'
import type { ManageIpPools } from '../../../senders/domains/manage-ip-pools.ts'
import type { DashboardRoute } from '../route.ts'
import { ipPools } from '../shown-resources.ts'
import { memberRoutes } from './member-routes.ts'

const path = '/api/internal/ip-pools'

const routes = memberRoutes(ipPools, { path })

export const dashboardIpPoolRoutes = ({ manage }: { manage: ManageIpPools }): DashboardRoute[] => [
  routes.list({ action: manage.list }),
  routes.get({ action: manage.get }),
  routes.create({ body: CreateIpPool, action: manage.create }),
  routes.change({
    path: `${path}/{id}`,
    body: PatchIpPool,
    action: manage.patch,
  }),
  routes.remove({ path: `${path}/{id}`, action: manage.remove }),
]
