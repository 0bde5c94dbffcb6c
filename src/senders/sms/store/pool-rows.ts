import { columns, type Given, oneOf, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { deleteOfTenant, type ErasedRows } from '../../../platform/db/erased-rows.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type Keyset, newestPageOf } from '../../../platform/ground/cursor.ts'
import type { Environment } from '../../../platform/ground/scope.ts'
import type { PhoneNumberRow } from './phone-number-rows.ts'
import type { RowKey } from './registration-rows.ts'

const ownColumns = columns({
  id: text,
  tenant_id: text.orNull,
  slug: text,
  name: text,
  created_environment: oneOf<Environment>(),
  created_at: time,
  updated_at: time,
})

export type PoolRow = RowOf<typeof ownColumns> & { phone_number_ids: string[] }

const poolColumns = `${ownColumns.of('o')},
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
  RowKey & Given<PoolRow, 'tenant_id' | 'slug' | 'name'> & { environment: Environment; at: Date },
  { id: string }
>(
  'senders.insert_pool',
  `insert into pools (org_id, id, tenant_id, slug, name, created_environment, created_at, updated_at)
   values (:orgId, :id, :tenantId, :slug, :name, :environment, :at, :at)
   on conflict (org_id, slug, tenant_id) do nothing
   returning id`,
)

/** Finds a pool in the whole org. The caller checks the tenant. */
export const findPool = statement<RowKey, PoolRow>(
  'senders.find_pool',
  `select ${poolColumns} from pools o where o.org_id = :orgId and o.id = :id`,
)

export const lockPool = statement<RowKey, PoolRow>(
  'senders.lock_pool',
  `select ${poolColumns} from pools o where o.org_id = :orgId and o.id = :id for no key update`,
)

/** Newest first. A tenant's list includes its own pools and those of the org. */
export const listPools = statement<Keyset & { orgId: string; tenantId: string | null }, PoolRow>(
  'senders.list_pools',
  `select ${poolColumns} from pools o
   where o.org_id = :orgId and (:tenantId::text is null or o.tenant_id is null or o.tenant_id = :tenantId)
     ${newestPageOf('o')}`,
)

/** Newest first. Only the pools of this tenant, if one is given. */
export const listOrgPools = statement<Keyset & { orgId: string; tenantId: string | null }, PoolRow>(
  'senders.list_org_pools',
  `select ${poolColumns} from pools o
   where o.org_id = :orgId and (:tenantId::text is null or o.tenant_id = :tenantId)
     ${newestPageOf('o')}`,
)

/** Always changes the row, because its trigger announces changed members too. A null name stays unchanged. */
export const updatePool = statement<RowKey & { name: string | null; at: Date }>(
  'senders.update_pool',
  'update pools set name = coalesce(:name, name), updated_at = :at where org_id = :orgId and id = :id',
)

/** Deleted before the members: a send locks its recipient first and then the member. */
export const deletePoolRecipients = statement<RowKey>(
  'senders.delete_pool_recipients',
  'delete from pool_recipients where org_id = :orgId and pool_id = :id',
)

export const deletePool = statement<RowKey>(
  'senders.delete_pool',
  'delete from pools where org_id = :orgId and id = :id',
)

export type MemberRow = Pick<PhoneNumberRow, 'id' | 'tenant_id' | 'environment'> & {
  /** Whether it is a member of another pool. */
  elsewhere: boolean
}

/** Locked in the order of their ids, so that two changes cannot wait for each other. */
export const lockMembers = statement<{ orgId: string; poolId: string; ids: string[] }, MemberRow>(
  'senders.lock_members',
  `select p.id, p.tenant_id, p.environment,
     exists (select 1 from pool_members m
       where m.org_id = p.org_id and m.phone_number_id = p.id and m.pool_id <> :poolId) as elsewhere
   from phone_numbers p
   where p.org_id = :orgId and p.id = any(:ids::text[])
   order by p.id
   for no key update of p`,
)

/** Members that stay keep the number of their recipients. */
export const replaceMembers = statement<{ orgId: string; poolId: string; ids: string[] }>(
  'senders.replace_members',
  `with removed as (
     delete from pool_members
     where org_id = :orgId and pool_id = :poolId and phone_number_id <> all(:ids::text[])
   )
   insert into pool_members (org_id, pool_id, phone_number_id, place)
   select :orgId, :poolId, id, place
   from unnest(:ids::text[]) with ordinality as given (id, place)
   on conflict (org_id, pool_id, phone_number_id) do update set place = excluded.place`,
)

export const setSenderTenant = statement<{ orgId: string; ids: string[]; tenantId: string | null; at: Date }>(
  'senders.set_sender_tenant',
  `update phone_numbers set tenant_id = :tenantId, updated_at = :at
   where org_id = :orgId and id = any(:ids::text[])`,
)

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

export const eraseTenantPools = statement<ErasedRows>('senders.erase_tenant_pools', deleteOfTenant('pools'))

/** The senders of the tenant's pools belong to the org again. */
export const freeTenantSenders = statement<ErasedRows>(
  'senders.free_tenant_senders',
  `update phone_numbers set tenant_id = null where (org_id, id) in (
     select org_id, id from phone_numbers where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)
