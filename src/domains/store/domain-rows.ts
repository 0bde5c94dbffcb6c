/** Reads, updates and deletes domains. */
import { statement } from '../../db/statement.ts'
import type { Environment } from '../../ground/scope.ts'
import type { RecordStatuses } from '../records.ts'
import type { Region } from '../region.ts'
import type { DkimStatus, DomainStatus } from '../shapes.ts'

export type DomainRow = {
  org_id: string
  id: string
  project_id: string
  tenant_id: string | null
  name: string
  status: DomainStatus
  dkim_status: DkimStatus
  region: Region
  created_environment: Environment
  created_at: Date
  verified_at: Date | null
  dkim_selector: string
  dkim_public_key: string | null
  return_path: string
  inbound: boolean
  ip_pool_id: string | null
  warmup_days: number | null
  warmup_started_at: Date | null
  last_checked_at: Date | null
  waiting_since: Date | null
  temporary_failures: number
  record_statuses: RecordStatuses
  simulated_status: DkimStatus | null
  /** Whether the provider has the domain, and who put it there. Null when it has not been asked. */
  identity: 'created' | 'adopted' | null
}

export const domainColumns = `
  org_id, id, project_id, tenant_id, name, status, dkim_status, region, created_environment, created_at,
  verified_at, dkim_selector, dkim_public_key, return_path, inbound, ip_pool_id, warmup_days, warmup_started_at,
  last_checked_at, waiting_since, temporary_failures, record_statuses, simulated_status, identity`

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
  {
    orgId: string
    tenantId: string | null
    projectId: string | null
    afterAt: string | null
    afterId: string | null
    limit: number
  },
  DomainRow
>(
  'domains.list',
  `select ${domainColumns} from domains
   where org_id = :orgId
     and (:tenantId::text is null or tenant_id = :tenantId)
     and (:projectId::text is null or project_id = :projectId)
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
   order by created_at desc, id desc
   limit :limit`,
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

export const deleteDomain = statement<{ orgId: string; id: string }, DomainRow>(
  'domains.delete',
  `delete from domains where org_id = :orgId and id = :id returning ${domainColumns}`,
)
