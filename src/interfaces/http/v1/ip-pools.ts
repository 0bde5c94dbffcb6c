import { CreateIpPool, PatchIpPool } from '../../../senders/domains/ip-pool-shapes.ts'
import type { ManageIpPools } from '../../../senders/domains/manage-ip-pools.ts'
import { byKey, type PublicRoute } from '../route.ts'
import { ipPools } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

/** Pools carry only live mail and are managed with platform keys. */
const forbiddenKeys = { tenantKey: 'TENANT_KEY_FORBIDDEN', testKey: 'ENVIRONMENT_ESCALATION' } as const

const routes = publicRoutes(ipPools, {
  tag: 'IP pools',
  path: '/ip-pools',
  name: 'IpPool',
  called: { one: 'dedicated IP pool', many: 'dedicated IP pools' },
  read: byKey('read:ip_pools', forbiddenKeys),
  write: byKey('write:ip_pools', forbiddenKeys),
})

export const ipPoolRoutes = ({ manage }: { manage: ManageIpPools }): PublicRoute[] => [
  routes.create({
    body: CreateIpPool,
    errors: ['DEDICATED_IP_LIMIT_EXCEEDED'],
    action: manage.create,
  }),
  routes.list({ action: manage.list }),
  routes.get({ action: manage.get }),
  routes.change({
    description: 'While a pool is paused, live sends from its domains return `IP_POOL_PAUSED`.',
    body: PatchIpPool,
    errors: ['NOT_FOUND', 'DEDICATED_IP_LIMIT_EXCEEDED'],
    action: manage.patch,
  }),
  routes.remove({
    errors: ['NOT_FOUND', 'IP_POOL_IN_USE'],
    action: manage.remove,
  }),
]
