import { statement } from '../../db/statement.ts'
import type { Environment } from '../../ground/scope.ts'

export type MemberRow = {
  id: string
  tenant_id: string | null
  environment: Environment
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
