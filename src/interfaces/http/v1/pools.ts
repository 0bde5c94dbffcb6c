import type { ManagePools } from '../../../senders/sms/pools/manage-pools.ts'
import { CreatePool, PatchPool } from '../../../senders/sms/pools/pool-shapes.ts'
import { byKey, type PublicRoute } from '../route.ts'
import { pools } from '../shown-resources.ts'
import { publicRoutes, refusals } from './public-routes.ts'

const routes = publicRoutes(pools, {
  tag: 'Pools',
  path: '/pools',
  name: 'Pool',
  called: { one: 'messaging pool', many: 'messaging pools' },
  read: byKey('read:pools'),
  write: byKey('write:pools'),
})

export const poolRoutes = ({ manage }: { manage: ManagePools }): PublicRoute[] => [
  routes.create({
    description:
      'Messages name the pool in `from_pool`, and each recipient keeps the sender that it got first. A sender in the pool of a tenant belongs to that tenant until it leaves the pool.',
    body: CreatePool,
    errors: ['PLAN_RESOURCE_LIMIT', 'POOL_SLUG_TAKEN', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
    action: manage.create,
  }),
  routes.list({
    description: "A tenant's list includes its own pools and those of the organisation.",
    action: manage.list,
  }),
  routes.get({ action: manage.get }),
  routes.change({
    description: 'Changes the name or replaces the members. Recipients of a member that leaves get another one.',
    body: PatchPool,
    errors: [...refusals, 'NO_FIELDS'],
    action: manage.patch,
  }),
  routes.remove({
    description: 'Its senders stay. Scheduled messages from the pool fail with `SENDER_NOT_REGISTERED`.',
    action: manage.remove,
  }),
]
