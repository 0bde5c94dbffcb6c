import { statement } from '../../db/statement.ts'
import type { Keyset } from '../../ground/cursor.ts'
import type { Environment } from '../../ground/scope.ts'

export type PoolRow = {
  id: string
  tenant_id: string | null
  slug: string
  name: string
  created_environment: Environment
  created_at: Date
  updated_at: Date
  phone_number_ids: string[]
}

const ownColumns = 'o.id, o.tenant_id, o.slug, o.name, o.created_environment, o.created_at, o.updated_at'

const columns = `${ownColumns},
  array(select m.phone_number_id from pool_members m
    where m.org_id = o.org_id and m.pool_id = o.id order by m.place) as phone_number_ids`

/** A tenant that is being erased gets no new rows. The lock keeps an erasure from beginning its work. */
export const lockPoolTenant = statement<{ orgId: string; tenantId: string }, { id: string }>(
  'senders.lock_pool_tenant',
  `select id from tenants
   where org_id = :orgId and id = :tenantId and status <> 'erased' and erasure is null
   for key share`,
)

export const countPools = statement<{ orgId: string }, { n: number }>(
  'senders.count_pools',
  'select count(*) as n from pools where org_id = :orgId',
)

/** Returns no row when the slug is taken. The pool has no members yet. */
export const insertPool = statement<
  {
    orgId: string
    id: string
    tenantId: string | null
    slug: string
    name: string
    environment: Environment
    at: Date
  },
  { id: string }
>(
  'senders.insert_pool',
  `insert into pools (org_id, id, tenant_id, slug, name, created_environment, created_at, updated_at)
   values (:orgId, :id, :tenantId, :slug, :name, :environment, :at, :at)
   on conflict (org_id, slug, tenant_id) do nothing
   returning id`,
)

/** Finds a pool in the whole org. The caller checks the tenant. */
export const findPool = statement<{ orgId: string; id: string }, PoolRow>(
  'senders.find_pool',
  `select ${columns} from pools o where o.org_id = :orgId and o.id = :id`,
)

export const lockPool = statement<{ orgId: string; id: string }, PoolRow>(
  'senders.lock_pool',
  `select ${columns} from pools o where o.org_id = :orgId and o.id = :id for no key update`,
)

/** Newest first. A tenant's list includes its own pools and those of the org. */
export const listPools = statement<Keyset & { orgId: string; tenantId: string | null }, PoolRow>(
  'senders.list_pools',
  `select ${columns} from pools o
   where o.org_id = :orgId and (:tenantId::text is null or o.tenant_id is null or o.tenant_id = :tenantId)
     and (:afterAt::timestamptz is null or (o.created_at, o.id) < (:afterAt::timestamptz, :afterId))
   order by o.created_at desc, o.id desc
   limit :limit`,
)

/** Newest first. Only the pools of this tenant, if one is given. */
export const listOrgPools = statement<Keyset & { orgId: string; tenantId: string | null }, PoolRow>(
  'senders.list_org_pools',
  `select ${columns} from pools o
   where o.org_id = :orgId and (:tenantId::text is null or o.tenant_id = :tenantId)
     and (:afterAt::timestamptz is null or (o.created_at, o.id) < (:afterAt::timestamptz, :afterId))
   order by o.created_at desc, o.id desc
   limit :limit`,
)

/** Always changes the row, because its trigger announces changed members too. A null name stays unchanged. */
export const updatePool = statement<{ orgId: string; id: string; name: string | null; at: Date }>(
  'senders.update_pool',
  'update pools set name = coalesce(:name, name), updated_at = :at where org_id = :orgId and id = :id',
)

/** Deleted before the members: a send locks its recipient first and then the member. */
export const deletePoolRecipients = statement<{ orgId: string; id: string }>(
  'senders.delete_pool_recipients',
  'delete from pool_recipients where org_id = :orgId and pool_id = :id',
)

export const deletePool = statement<{ orgId: string; id: string }>(
  'senders.delete_pool',
  'delete from pools where org_id = :orgId and id = :id',
)

type ErasedRows = { orgId: string; tenantId: string; limit: number }

/** The recipients that the tenant's pools keep a sender for. */
export const eraseTenantPoolRecipients = statement<ErasedRows>(
  'senders.erase_tenant_pool_recipients',
  `delete from pool_recipients where (org_id, pool_id, recipient) in (
     select r.org_id, r.pool_id, r.recipient
     from pools o join pool_recipients r on r.org_id = o.org_id and r.pool_id = o.id
     where o.org_id = :orgId and o.tenant_id = :tenantId
     limit :limit)`,
)

/** The recipients in pools of the org that the tenant was the last to send to. Their senders have fewer recipients. */
export const eraseTenantRecipients = statement<ErasedRows>(
  'senders.erase_tenant_recipients',
  `with erased as (
     delete from pool_recipients where (org_id, pool_id, recipient) in (
       select org_id, pool_id, recipient from pool_recipients
       where org_id = :orgId and tenant_id = :tenantId limit :limit)
     returning org_id, pool_id, phone_number_id
   ), fewer as (
     select org_id, pool_id, phone_number_id, count(*) as n from erased group by 1, 2, 3
   ), counted as (
     update pool_members m set recipients = m.recipients - fewer.n
     from fewer
     where m.org_id = fewer.org_id and m.pool_id = fewer.pool_id and m.phone_number_id = fewer.phone_number_id
   )
   select 1 from erased`,
)

export const eraseTenantPools = statement<ErasedRows>(
  'senders.erase_tenant_pools',
  `delete from pools where (org_id, id) in (
     select org_id, id from pools where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)

/** The senders of the tenant's pools belong to the org again. */
export const freeTenantSenders = statement<ErasedRows>(
  'senders.free_tenant_senders',
  `update phone_numbers set tenant_id = null where (org_id, id) in (
     select org_id, id from phone_numbers where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)
