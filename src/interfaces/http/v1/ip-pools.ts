import { CreateIpPool, PatchIpPool } from '../../../senders/domains/ip-pool-shapes.ts'
import type { ManageIpPools } from '../../../senders/domains/manage-ip-pools.ts'
import type { PublicRoute } from '../route.ts'
import { byKey } from '../route-access.ts'
import { ipPools } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

/** Pools carry only live mail and are managed with platform keys. */
const forbiddenKeys = { tenantKey: 'TENANT_KEY_FORBIDDEN', testKey: 'ENVIRONMENT_ESCALATION' } as const

const routes = publicRoutes('IP pools', ipPools)

type Needs = { manage: ManageIpPools }

export const ipPoolRoutes = ({ manage }: Needs): PublicRoute[] => [
  routes.create({
    path: '/ip-pools',
    operationId: 'createIpPool',
    summary: 'Create a dedicated IP pool',
    access: byKey('write:ip_pools', forbiddenKeys),
    body: CreateIpPool,
    errors: ['DEDICATED_IP_LIMIT_EXCEEDED'],
    action: manage.create,
  }),
  routes.list({
    path: '/ip-pools',
    operationId: 'listIpPools',
    summary: 'List dedicated IP pools',
    access: byKey('read:ip_pools', forbiddenKeys),
    action: manage.list,
  }),
  routes.get({
    path: '/ip-pools/{id}',
    operationId: 'getIpPool',
    summary: 'Get a dedicated IP pool',
    access: byKey('read:ip_pools', forbiddenKeys),
    action: manage.get,
  }),
  routes.change({
    path: '/ip-pools/{id}',
    operationId: 'updateIpPool',
    summary: 'Update a dedicated IP pool',
    description: 'While a pool is paused, live sends from its domains return `IP_POOL_PAUSED`.',
    access: byKey('write:ip_pools', forbiddenKeys),
    body: PatchIpPool,
    errors: ['NOT_FOUND', 'DEDICATED_IP_LIMIT_EXCEEDED'],
    action: manage.patch,
  }),
  routes.remove({
    path: '/ip-pools/{id}',
    operationId: 'deleteIpPool',
    summary: 'Delete a dedicated IP pool',
    access: byKey('write:ip_pools', forbiddenKeys),
    errors: ['NOT_FOUND', 'IP_POOL_IN_USE'],
    action: manage.remove,
  }),
]
