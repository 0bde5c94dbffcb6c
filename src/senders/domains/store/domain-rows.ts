/** Reads, updates and deletes domains. */
import { columns, flag, json, number, oneOf, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type Keyset, newestPage } from '../../../platform/ground/cursor.ts'
import type { Environment } from '../../../platform/ground/scope.ts'
import type { RecordStatuses } from '../records.ts'
import type { Region } from '../region.ts'
import type { DkimStatus, DomainStatus } from '../shapes.ts'

export const domainColumns = columns({
  org_id: text,
  id: text,
  project_id: text,
  tenant_id: text.orNull,
  name: text,
  status: oneOf<DomainStatus>(),
  dkim_status: oneOf<DkimStatus>(),
  region: oneOf<Region>(),
  created_environment: oneOf<Environment>(),
  created_at: time,
  verified_at: time.orNull,
  dkim_selector: text,
  dkim_public_key: text.orNull,
  return_path: text,
  inbound: flag,
  ip_pool_id: text.orNull,
  warmup_days: number.orNull,
  warmup_started_at: time.orNull,
  last_checked_at: time.orNull,
  waiting_since: time.orNull,
  temporary_failures: number,
  record_statuses: json<RecordStatuses>(),
  simulated_status: oneOf<DkimStatus>().orNull,
  /** Whether the provider has the domain, and who put it there. Null when it has not been asked. */
  identity: oneOf<'created' | 'adopted'>().orNull,
})

export type DomainRow = RowOf<typeof domainColumns>

/** Finds a domain in the org, or in one project of it. The caller checks the tenant. */
export const findDomain = statement<{ orgId: string; projectId: string | null; id: string }, DomainRow>(
  'domains.find',
  `select ${domainColumns} from domains
   where org_id = :orgId and (:projectId::text is null or project_id = :projectId) and id = :id`,
)

export const lockDomain = statement<{ orgId: string; projectId: string | null; id: string }, DomainRow>(
  'domains.lock',
  `select ${domainColumns} from domains
   where org_id = :orgId and (:projectId::text is null or project_id = :projectId) and id = :id
   for update`,
)

export const listDomains = statement<
  Keyset & { orgId: string; tenantId: string | null; projectId: string | null },
  DomainRow
>(
  'domains.list',
  `select ${domainColumns} from domains
   where org_id = :orgId
     and (:tenantId::text is null or tenant_id = :tenantId)
     and (:projectId::text is null or project_id = :projectId)
     ${newestPage}`,
)

/** A null `inbound` leaves the setting unchanged. `poolId` applies only when `setPool` is true. */
export const updateDomain = statement<
  { orgId: string; id: string; inbound: boolean | null; setPool: boolean; poolId: string | null; at: Date },
  DomainRow
>(
  'domains.update',
  `update domains
   set inbound = coalesce(:inbound, inbound),
     ip_pool_id = case when :setPool then :poolId else ip_pool_id end,
     updated_at = :at
   where org_id = :orgId and id = :id
   returning ${domainColumns}`,
)

/** Resets the domain to the state of a new one in the region. A check that is under way is discarded. */
export const moveDomain = statement<
  { orgId: string; id: string; region: Region; identity: DomainRow['identity']; at: Date },
  DomainRow
>(
  'domains.move',
  `update domains
   set region = :region, status = 'pending', dkim_status = 'PENDING', record_statuses = '{}', verified_at = null,
     last_checked_at = null, waiting_since = :at, temporary_failures = 0, check_claim = null, next_check_at = :at,
     ip_pool_id = null, identity = :identity, updated_at = :at
   where org_id = :orgId and id = :id
   returning ${domainColumns}`,
)

/** Keeps the state of the tenant until the domain is bound to it. */
export const shareLockTenant = statement<
  { orgId: string; id: string },
  { status: 'active' | 'suspended' | 'archived' }
>(
  'domains.share_lock_tenant',
  "select status from tenants where org_id = :orgId and id = :id and status <> 'erased' for share",
)

export const bindDomain = statement<{ orgId: string; id: string; tenantId: string | null; at: Date }, DomainRow>(
  'domains.bind',
  `update domains set tenant_id = :tenantId, updated_at = :at
   where org_id = :orgId and id = :id
   returning ${domainColumns}`,
)

/** Returns no row while a warmup window is open. */
export const startWarmup = statement<{ orgId: string; id: string; days: number; endsAt: Date; at: Date }, DomainRow>(
  'domains.start_warmup',
  `update domains set warmup_days = :days, warmup_started_at = :at, warmup_ends_at = :endsAt, updated_at = :at
   where org_id = :orgId and id = :id and (warmup_ends_at is null or warmup_ends_at <= :at)
   returning ${domainColumns}`,
)

export const endWarmup = statement<{ orgId: string; id: string; at: Date }, DomainRow>(
  'domains.end_warmup',
  `update domains set warmup_days = null, warmup_started_at = null, warmup_ends_at = null, updated_at = :at
   where org_id = :orgId and id = :id
   returning ${domainColumns}`,
)

/** How many recipients each domain in warmup has sent to on the day. */
export const warmupSent = statement<{ orgId: string; ids: string[]; day: string }, { subject: string; used: number }>(
  'domains.warmup_sent',
  `select subject, used from usage_counters
   where org_id = :orgId and subject = any(:ids::text[])
     and environment = 'live' and measure = 'warmup' and period = :day`,
)

export const deleteDomain = statement<{ orgId: string; id: string }, DomainRow>(
  'domains.delete',
  `delete from domains where org_id = :orgId and id = :id returning ${domainColumns}`,
)

// What is stored about the identities of domains at the provider, which has one for each name and region.

export const findDkimKey = statement<{ orgId: string; id: string }, { dkim_private_key: string | null }>(
  'domains.find_dkim_key',
  'select dkim_private_key from domains where org_id = :orgId and id = :id',
)

export const recordIdentity = statement<{ orgId: string; id: string; identity: 'created' | 'adopted' }>(
  'domains.record_identity',
  'update domains set identity = :identity where org_id = :orgId and id = :id',
)

/** Another domain that uses the same identity, of any org. */
export const findOtherIdentity = statement<{ name: string; region: Region; id: string }, { id: string }>(
  'domains.find_other_identity',
  `select id from domains
   where name = :name and region = :region and id <> :id and identity is not null
   limit 1`,
)

/** The oldest remaining domain with this identity, of any org, becomes the one that removes it. */
export const inheritIdentity = statement<{ name: string; region: Region }>(
  'domains.inherit_identity',
  `update domains set identity = 'created'
   where (org_id, id) = (
     select org_id, id from domains
     where name = :name and region = :region and identity is not null
     order by created_at, id limit 1)`,
)
