import type { ManagePools } from '../../../senders/sms/pools/manage-pools.ts'
import { CreatePool, PatchPool } from '../../../senders/sms/pools/pool-shapes.ts'
import type { PublicRoute } from '../route.ts'
import { byKey } from '../route-access.ts'
import { pools } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const refusals = ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'] as const

const routes = publicRoutes('Pools', pools)

type Needs = { manage: ManagePools }

export const poolRoutes = ({ manage }: Needs): PublicRoute[] => [
  routes.create({
    path: '/pools',
    operationId: 'createPool',
    summary: 'Create a messaging pool',
    description:
      'Messages name the pool in `from_pool`, and each recipient keeps the sender that it got first. A sender in the pool of a tenant belongs to that tenant until it leaves the pool.',
    access: byKey('write:pools'),
    body: CreatePool,
    errors: ['PLAN_RESOURCE_LIMIT', 'POOL_SLUG_TAKEN', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
    action: manage.create,
  }),
  routes.list({
    path: '/pools',
    operationId: 'listPools',
    summary: 'List messaging pools',
    description: "A tenant's list includes its own pools and those of the organisation.",
    access: byKey('read:pools'),
    action: manage.list,
  }),
  routes.get({
    path: '/pools/{id}',
    operationId: 'getPool',
    summary: 'Get a messaging pool',
    access: byKey('read:pools'),
    action: manage.get,
  }),
  routes.change({
    path: '/pools/{id}',
    operationId: 'updatePool',
    summary: 'Update a messaging pool',
    description: 'Changes the name or replaces the members. Recipients of a member that leaves get another one.',
    access: byKey('write:pools'),
    body: PatchPool,
    errors: [...refusals, 'NO_FIELDS'],
    action: manage.patch,
  }),
  routes.remove({
    path: '/pools/{id}',
    operationId: 'deletePool',
    summary: 'Delete a messaging pool',
    description: 'Its senders stay. Scheduled messages from the pool fail with `SENDER_NOT_REGISTERED`.',
    access: byKey('write:pools'),
    errors: refusals,
    action: manage.remove,
  }),
]
