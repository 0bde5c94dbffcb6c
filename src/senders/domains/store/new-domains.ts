/** Adds domains: plan limits, project and tenant lookups, inserts, and promotion of test-mode rows. */
import type { Plan } from '../../../customers/orgs/plans.ts'
import { rememberStep } from '../../../customers/orgs/store.ts'
import type { Given } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { Environment } from '../../../platform/ground/scope.ts'
import { type DomainRow, domainColumns } from './domain-rows.ts'

type NewKey = { publicKey: string; sealedPrivateKey: string }

/** Inserts a domain that is verified from the start, such as the `.test` domain of a new installation. */
export const insertVerifiedDomain = statement<
  Given<DomainRow, 'org_id' | 'id' | 'project_id' | 'name' | 'region'> &
    NewKey & { recordStatuses: string; nextCheckAt: Date; at: Date }
>(
  'domains.insert_verified',
  `with remembered as (
     ${rememberStep('verify_domain')}
   )
   insert into domains (org_id, id, project_id, name, status, dkim_status, region, created_environment,
     dkim_public_key, dkim_private_key, record_statuses, next_check_at, created_at, updated_at, verified_at,
     last_checked_at)
   values (:orgId, :id, :projectId, :name, 'verified', 'SUCCESS', :region, 'live',
     :publicKey, :sealedPrivateKey, :recordStatuses::jsonb, :nextCheckAt, :at, :at, :at,
     :at)`,
)

/**
 * Matches a row that a test key created and that a live key now adds. A platform key may promote a row of any tenant. A
 * tenant's key may promote only its own tenant's rows, because the row keeps its verification.
 */
const isPromotable = `org_id = :orgId and project_id = :projectId and name = :name and created_environment = 'test'
     and :environment = 'live' and (:boundTenantId::text is null or tenant_id = :boundTenantId)`

type DomainToAdd = Given<DomainRow, 'org_id' | 'project_id' | 'name'> & {
  environment: Environment
  /** The tenant that the caller's key is bound to. */
  boundTenantId: string | null
}

export type DomainAllowance = { plan: Plan; domains: number; added: boolean; promotable: boolean }

/** How many domains the org has, whether the project already has this one, and whether it can be promoted. */
export const findDomainAllowance = statement<DomainToAdd, DomainAllowance>(
  'domains.find_allowance',
  `select plan, (select count(*) from domains where org_id = :orgId) as domains,
     exists (select 1 from domains where org_id = :orgId and project_id = :projectId and name = :name) as added,
     exists (select 1 from domains where ${isPromotable}) as promotable
   from orgs where id = :orgId`,
)

/**
 * Turns a test-mode row into the requested live domain. The row keeps its id, key, selector and verification. When the
 * region or the return path changes, the records that depend on them must be checked again. Clearing the claim discards
 * the result of a check that is under way. Warmup is reset, because test mode sends no mail.
 */
export const promoteDomain = statement<
  DomainToAdd & Given<DomainRow, 'tenant_id' | 'region' | 'return_path' | 'inbound'> & { at: Date },
  DomainRow
>(
  'domains.promote',
  `update domains
   set created_environment = 'live', tenant_id = :tenantId, region = :region, return_path = :returnPath,
     inbound = :inbound,
     ip_pool_id = case when region = :region then ip_pool_id end,
     record_statuses = case when (region, return_path) = (:region, :returnPath) then record_statuses
       else record_statuses - '{RETURN_PATH,SPF,INBOUND}'::text[] end,
     warmup_days = null, warmup_started_at = null, warmup_ends_at = null,
     check_claim = null, next_check_at = :at, updated_at = :at
   where ${isPromotable}
   returning ${domainColumns}`,
)

/** Resets a domain with the status IDENTITY_NOT_FOUND to the state of a new one. */
export const restartDomain = statement<{ orgId: string; id: string; at: Date }, DomainRow>(
  'domains.restart',
  `update domains
   set status = 'pending', dkim_status = 'PENDING', record_statuses = '{}', verified_at = null,
     last_checked_at = null, waiting_since = :at, temporary_failures = 0, simulated_status = null
   where org_id = :orgId and id = :id
   returning ${domainColumns}`,
)

/**
 * Finds the requested project, or the project of a bound key, or the default project. Returns no row when a bound key
 * requests another project than its own.
 */
export const findProjectFor = statement<{ orgId: string; boundTo: string | null; id: string | null }, { id: string }>(
  'domains.find_project',
  `select id from projects
   where org_id = :orgId and (:boundTo::text is null or id = :boundTo)
     and case when coalesce(:id, :boundTo) is null then is_default else id = coalesce(:id, :boundTo) end`,
)

export const findTenantFor = statement<{ orgId: string; id: string }, { id: string }>(
  'domains.find_tenant',
  "select id from tenants where org_id = :orgId and id = :id and status <> 'erased'",
)

/** Locks the name until the transaction ends, so that concurrent additions of one name see each other's rows. */
export const lockDomainName = statement<{ name: string }, { held: unknown }>(
  'domains.lock_name',
  "select pg_advisory_xact_lock(hashtextextended('domains.name ' || :name::text, 0)) as held",
)

/** The first selector that no row of the name has, in any org. */
const freeSelector = `(
     select 'svc' || min(n) from generate_series(1, (select count(*) + 1 from domains where name = :name)) n
     where not exists (select 1 from domains where name = :name and dkim_selector = 'svc' || n))`

/** The selector that the next row of the name gets, unless another one is added first. */
export const findFreeSelector = statement<{ name: string }, { selector: string }>(
  'domains.find_free_selector',
  `select ${freeSelector} as selector`,
)

/**
 * Gives each row of a name its own selector, across all orgs. A name has only one DNS zone, and receivers cannot use
 * two keys under one selector. The caller locks the name first. Returns no row when the project already has the name.
 */
export const insertDomain = statement<
  Given<DomainRow, 'org_id' | 'id' | 'project_id' | 'tenant_id' | 'name' | 'region' | 'return_path' | 'inbound'> &
    NewKey & { environment: Environment; identity: DomainRow['identity']; at: Date },
  DomainRow
>(
  'domains.insert',
  `insert into domains (org_id, id, project_id, tenant_id, name, status, dkim_status, region, created_environment,
     return_path, inbound, dkim_selector, dkim_public_key, dkim_private_key, created_at, updated_at, waiting_since,
     next_check_at, identity)
   select :orgId, :id, :projectId, :tenantId, :name, 'pending', 'PENDING', :region, :environment,
     :returnPath, :inbound,
     ${freeSelector},
     :publicKey, :sealedPrivateKey, :at, :at, :at,
     :at, :identity
   on conflict (org_id, project_id, name) do nothing
   returning ${domainColumns}`,
)
