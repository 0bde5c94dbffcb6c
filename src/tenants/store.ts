import { statement } from '../db/statement.ts'
import type { Keyset } from '../ground/cursor.ts'
import type { Environment } from '../ground/scope.ts'
import type { Searched } from '../ground/search-page.ts'

export type TenantStatus = 'active' | 'suspended' | 'archived' | 'erased'

export type Erasure = {
  messages_redacted: number
  message_events_deleted: number
  contacts_deleted: number
  inbound_deleted: number
}

export type TenantRow = {
  org_id: string
  id: string
  slug: string
  name: string
  external_ref: string | null
  status: TenantStatus
  email_monthly: number | null
  sms_monthly: number | null
  created_environment: Environment
  /** The counts of a running or finished erasure; null before it begins. */
  erasure: Erasure | null
  created_at: Date
  updated_at: Date
  suspended_at: Date | null
  archived_at: Date | null
  erased_at: Date | null
}

const columns = `org_id, id, slug, name, external_ref, status, email_monthly, sms_monthly, created_environment, erasure,
  created_at, updated_at, suspended_at, archived_at, erased_at`

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
  {
    orgId: string
    id: string
    slug: string
    name: string
    externalRef: string | null
    environment: Environment
    at: Date
  },
  TenantRow
>(
  'tenants.insert',
  `insert into tenants (org_id, id, slug, name, external_ref, status, created_environment, created_at, updated_at)
   values (:orgId, :id, :slug, :name, :externalRef, 'active', :environment, :at, :at)
   on conflict (org_id, slug) where status <> 'erased' do nothing
   returning ${columns}`,
)

export const findTenant = statement<{ orgId: string; id: string }, TenantRow>(
  'tenants.find',
  `select ${columns} from tenants where org_id = :orgId and id = :id`,
)

export const lockTenant = statement<{ orgId: string; id: string }, TenantRow>(
  'tenants.lock',
  `select ${columns} from tenants where org_id = :orgId and id = :id for update`,
)

/** Newest first. Erased tenants are listed only when the status filter requests them. */
export const listTenants = statement<
  {
    orgId: string
    id: string | null
    externalRef: string | null
    status: TenantStatus | null
    afterAt: string | null
    afterId: string | null
    limit: number
  },
  TenantRow
>(
  'tenants.list',
  `select ${columns} from tenants
   where org_id = :orgId and (:id::text is null or id = :id)
     and (:externalRef::text is null or external_ref = :externalRef)
     and (status = :status or (:status::text is null and status <> 'erased'))
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
   order by created_at desc, id desc
   limit :limit`,
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
   select ${columns}, ends
   from found join tenants on org_id = :orgId and id = found_id
   order by place, ends`,
)

export const updateTenant = statement<
  { orgId: string; id: string; name: string; externalRef: string | null; at: Date },
  TenantRow
>(
  'tenants.update',
  `update tenants set name = :name, external_ref = :externalRef, updated_at = :at
   where org_id = :orgId and id = :id and status <> 'erased' and erasure is null
   returning ${columns}`,
)

export const setQuota = statement<
  { orgId: string; id: string; email: number | null; sms: number | null; at: Date },
  TenantRow
>(
  'tenants.set_quota',
  `update tenants set email_monthly = :email, sms_monthly = :sms, updated_at = :at
   where org_id = :orgId and id = :id and status <> 'erased'
   returning ${columns}`,
)

// Each transition is an update that requires the previous state, so only one of two concurrent calls changes the row.

export const suspendTenant = statement<{ orgId: string; id: string; at: Date }, TenantRow>(
  'tenants.suspend',
  `update tenants set status = 'suspended', suspended_at = :at, updated_at = :at
   where org_id = :orgId and id = :id and status = 'active'
   returning ${columns}`,
)

export const unsuspendTenant = statement<{ orgId: string; id: string; at: Date }, TenantRow>(
  'tenants.unsuspend',
  `update tenants set status = 'active', suspended_at = null, updated_at = :at
   where org_id = :orgId and id = :id and status = 'suspended' and erasure is null
   returning ${columns}`,
)

export const archiveTenant = statement<{ orgId: string; id: string; at: Date }, TenantRow>(
  'tenants.archive',
  `update tenants set status = 'archived', archived_at = :at, updated_at = :at
   where org_id = :orgId and id = :id and status = 'active'
   returning ${columns}`,
)

export const restoreTenant = statement<{ orgId: string; id: string; at: Date }, TenantRow>(
  'tenants.restore',
  `update tenants set status = 'active', archived_at = null, updated_at = :at
   where org_id = :orgId and id = :id and status = 'archived' and erasure is null
   returning ${columns}`,
)

/** After this the tenant cannot be restored, even if the erasure is interrupted and has to continue later. */
export const beginErasure = statement<{ orgId: string; id: string; counts: string; at: Date }, TenantRow>(
  'tenants.begin_erasure',
  `update tenants set erasure = :counts::jsonb, updated_at = :at
   where org_id = :orgId and id = :id and status in ('suspended', 'archived') and erasure is null
   returning ${columns}`,
)

export const saveErasureCounts = statement<{ orgId: string; id: string; counts: string }>(
  'tenants.save_erasure_counts',
  'update tenants set erasure = :counts::jsonb where org_id = :orgId and id = :id',
)

export const finishErasure = statement<{ orgId: string; id: string; at: Date }, TenantRow>(
  'tenants.finish_erasure',
  `update tenants set status = 'erased', erased_at = :at, updated_at = :at, external_ref = null
   where org_id = :orgId and id = :id and status in ('suspended', 'archived') and erasure is not null
   returning ${columns}`,
)

export const revokeKeysOf = statement<{ orgId: string; tenantId: string; at: Date }>(
  'tenants.revoke_keys',
  `update api_keys set revoked_at = :at, updated_at = :at
   where org_id = :orgId and tenant_id = :tenantId and revoked_at is null`,
)
