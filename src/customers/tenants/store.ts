import { columns, type Given, json, number, oneOf, type RowOf, text, time } from '../../platform/db/columns.ts'
import { statement } from '../../platform/db/statement.ts'
import { type Keyset, newestPage } from '../../platform/ground/cursor.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import type { Searched } from '../../platform/ground/search-page.ts'

export type TenantStatus = 'active' | 'suspended' | 'archived' | 'erased'

export type Erasure = {
  messages_redacted: number
  message_events_deleted: number
  contacts_deleted: number
  inbound_deleted: number
}

const tenantColumns = columns({
  org_id: text,
  id: text,
  slug: text,
  name: text,
  external_ref: text.orNull,
  status: oneOf<TenantStatus>(),
  email_monthly: number.orNull,
  sms_monthly: number.orNull,
  created_environment: oneOf<Environment>(),
  /** The counts of a running or finished erasure; null before it begins. */
  erasure: json<Erasure>().orNull,
  created_at: time,
  updated_at: time,
  suspended_at: time.orNull,
  archived_at: time.orNull,
  erased_at: time.orNull,
})

export type TenantRow = RowOf<typeof tenantColumns>

export type TenantRef = { id: string; status: TenantStatus }

export const findTenantByRef = statement<{ orgId: string; ref: string }, TenantRef>(
  'tenants.find_by_ref',
  'select id, status from tenants where org_id = :orgId and external_ref = :ref',
)

export const countTenants = statement<{ orgId: string }, { n: number }>(
  'tenants.count',
  "select count(*) as n from tenants where org_id = :orgId and status in ('active', 'suspended')",
)

/** Returns no row if the slug is taken. A taken reference violates the unique index tenants_external_ref. */
export const insertTenant = statement<
  Given<TenantRow, 'id' | 'slug' | 'name' | 'external_ref'> & { orgId: string; environment: Environment; at: Date },
  TenantRow
>(
  'tenants.insert',
  `insert into tenants (org_id, id, slug, name, external_ref, status, created_environment, created_at, updated_at)
   values (:orgId, :id, :slug, :name, :externalRef, 'active', :environment, :at, :at)
   on conflict (org_id, slug) where status <> 'erased' do nothing
   returning ${tenantColumns}`,
)

export const findTenant = statement<{ orgId: string; id: string }, TenantRow>(
  'tenants.find',
  `select ${tenantColumns} from tenants where org_id = :orgId and id = :id`,
)

export const lockTenant = statement<{ orgId: string; id: string }, TenantRow>(
  'tenants.lock',
  `select ${tenantColumns} from tenants where org_id = :orgId and id = :id for update`,
)

/** Newest first. Erased tenants are listed only when the status filter requests them. */
export const listTenants = statement<
  Keyset & { orgId: string; id: string | null; externalRef: string | null; status: TenantStatus | null },
  TenantRow
>(
  'tenants.list',
  `select ${tenantColumns} from tenants
   where org_id = :orgId and (:id::text is null or id = :id)
     and (:externalRef::text is null or external_ref = :externalRef)
     and (status = :status or (:status::text is null and status <> 'erased')) ${newestPage}`,
)

const contains = (column: string): string => `coalesce(strpos(lower(${column}), lower(:q)) > 0, false)`

/**
 * Tenants with a text in their name, slug, reference or id, newest first. A statement reads at most `window` tenants, so
 * that its cost does not depend on how many there are. It also returns the last one of a full window, marked with `ends`.
 */
export const searchTenants = statement<{ orgId: string; q: string; window: number } & Keyset, Searched<TenantRow>>(
  'tenants.search',
  `with scanned as materialized (
     select id, ${['name', 'slug', 'external_ref', 'id'].map(contains).join(' or ')} as matches,
       row_number() over (order by created_at desc, id desc) as place
     from tenants
     where org_id = :orgId and status <> 'erased'
       and (created_at, id) < (coalesce(:afterAt::timestamptz, 'infinity'), coalesce(:afterId, 'zzz'))
     order by created_at desc, id desc
     limit :window
   ), found as (
     (select id as found_id, place, false as ends from scanned where matches order by place limit :limit)
     union all
     (select id, place, true from scanned where place = :window)
   )
   select ${tenantColumns}, ends
   from found join tenants on org_id = :orgId and id = found_id
   order by place, ends`,
)

type TenantChange = { orgId: string; id: string; at: Date }

/** An update that requires the previous state, so only one of two concurrent calls changes the row. */
const changed = (values: string, from: string): string =>
  `update tenants set ${values}, updated_at = :at
   where org_id = :orgId and id = :id and ${from}
   returning ${tenantColumns}`

export const updateTenant = statement<TenantChange & Given<TenantRow, 'name' | 'external_ref'>, TenantRow>(
  'tenants.update',
  changed('name = :name, external_ref = :externalRef', "status <> 'erased' and erasure is null"),
)

export const setQuota = statement<TenantChange & { email: number | null; sms: number | null }, TenantRow>(
  'tenants.set_quota',
  changed('email_monthly = :email, sms_monthly = :sms', "status <> 'erased'"),
)

export const suspendTenant = statement<TenantChange, TenantRow>(
  'tenants.suspend',
  changed("status = 'suspended', suspended_at = :at", "status = 'active'"),
)

export const unsuspendTenant = statement<TenantChange, TenantRow>(
  'tenants.unsuspend',
  changed("status = 'active', suspended_at = null", "status = 'suspended' and erasure is null"),
)

export const archiveTenant = statement<TenantChange, TenantRow>(
  'tenants.archive',
  changed("status = 'archived', archived_at = :at", "status = 'active'"),
)

export const restoreTenant = statement<TenantChange, TenantRow>(
  'tenants.restore',
  changed("status = 'active', archived_at = null", "status = 'archived' and erasure is null"),
)

/** After this the tenant cannot be restored, even if the erasure is interrupted and has to continue later. */
export const beginErasure = statement<TenantChange & { counts: string }, TenantRow>(
  'tenants.begin_erasure',
  changed('erasure = :counts::jsonb', "status in ('suspended', 'archived') and erasure is null"),
)

export const saveErasureCounts = statement<{ orgId: string; id: string; counts: string }>(
  'tenants.save_erasure_counts',
  'update tenants set erasure = :counts::jsonb where org_id = :orgId and id = :id',
)

export const finishErasure = statement<TenantChange, TenantRow>(
  'tenants.finish_erasure',
  changed(
    "status = 'erased', erased_at = :at, external_ref = null",
    "status in ('suspended', 'archived') and erasure is not null",
  ),
)

export const revokeKeysOf = statement<{ orgId: string; tenantId: string; at: Date }>(
  'tenants.revoke_keys',
  `update api_keys set revoked_at = :at, updated_at = :at
   where org_id = :orgId and tenant_id = :tenantId and revoked_at is null`,
)
