import { afterCursor } from '../../../platform/db/after-cursor.ts'
import { columns, type Given, number, oneOf, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { deleteOfTenant, type ErasedRows } from '../../../platform/db/erased-rows.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { Keyset } from '../../../platform/ground/cursor.ts'
import type { Environment } from '../../../platform/ground/scope.ts'

const audienceColumns = columns({
  id: text,
  tenant_id: text.orNull,
  created_environment: oneOf<Environment>(),
  name: text,
  slug: text,
  member_count: number,
  created_at: time,
  updated_at: time,
})

export type AudienceRow = RowOf<typeof audienceColumns>

export const countAudiences = statement<{ orgId: string }, { n: number }>(
  'audiences.count',
  'select count(*) as n from audiences where org_id = :orgId',
)

/** Returns no row when the slug is taken. */
export const insertAudience = statement<
  Given<AudienceRow, 'id' | 'tenant_id' | 'name' | 'slug'> & { orgId: string; environment: Environment; at: Date },
  AudienceRow
>(
  'audiences.insert',
  `insert into audiences (org_id, id, tenant_id, created_environment, name, slug, created_at, updated_at)
   values (:orgId, :id, :tenantId, :environment, :name, :slug, :at, :at)
   on conflict (org_id, slug) do nothing
   returning ${audienceColumns}`,
)

/** Finds an audience in the whole org. The caller checks the tenant. */
export const findAudience = statement<{ orgId: string; id: string }, AudienceRow>(
  'audiences.find',
  `select ${audienceColumns} from audiences where org_id = :orgId and id = :id`,
)

export const lockAudience = statement<{ orgId: string; id: string }, AudienceRow>(
  'audiences.lock',
  `select ${audienceColumns} from audiences where org_id = :orgId and id = :id for no key update`,
)

export const deleteAudience = statement<{ orgId: string; id: string }>(
  'audiences.delete',
  'delete from audiences where org_id = :orgId and id = :id',
)

const newestFirst = `order by created_at desc, id desc
   limit :limit`

export const listAudiences = statement<Keyset & { orgId: string }, AudienceRow>(
  'audiences.list',
  `select ${audienceColumns} from audiences
   where org_id = :orgId and ${afterCursor()}
   ${newestFirst}`,
)

export const listTenantAudiences = statement<Keyset & { orgId: string; tenantId: string }, AudienceRow>(
  'audiences.list_tenant',
  `select ${audienceColumns} from audiences
   where org_id = :orgId and tenant_id = :tenantId and ${afterCursor()}
   ${newestFirst}`,
)

/** The members go with their audience. */
export const eraseTenantAudiences = statement<ErasedRows>('audiences.erase_tenant', deleteOfTenant('audiences'))
