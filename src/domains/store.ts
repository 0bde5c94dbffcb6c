import { statement } from '../db/statement.ts'
import type { Environment } from '../ground/scope.ts'
import type { Plan } from '../orgs/plans.ts'
import type { RecordStatuses } from './records.ts'
import type { Region } from './region.ts'
import type { DkimStatus, DomainStatus } from './shapes.ts'

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
}

const columns = `org_id, id, project_id, tenant_id, name, status, dkim_status, region, created_environment, created_at,
  verified_at, dkim_selector, dkim_public_key, return_path, inbound, ip_pool_id, warmup_days, warmup_started_at,
  last_checked_at, waiting_since, temporary_failures, record_statuses, simulated_status`

/** A domain whose proof is known from the start, as the first run's own one under `.test`. */
export const insertVerifiedDomain = statement<{
  orgId: string
  id: string
  projectId: string
  name: string
  region: Region
  publicKey: string
  sealedPrivateKey: string
  recordStatuses: string
  nextCheckAt: Date
  at: Date
}>(
  'domains.insert_verified',
  `insert into domains (org_id, id, project_id, name, status, dkim_status, region, created_environment,
     dkim_public_key, dkim_private_key, record_statuses, next_check_at, created_at, updated_at, verified_at,
     last_checked_at)
   values (:orgId, :id, :projectId, :name, 'verified', 'SUCCESS', :region, 'live', :publicKey, :sealedPrivateKey, :recordStatuses::jsonb, :nextCheckAt, :at, :at, :at, :at)`,
)

/**
 * A row that a test key made and a live one adds: of any tenant for a key of the platform, for a tenant's key only of
 * its own, since the proof stays with the row.
 */
const takeable = `org_id = :orgId and project_id = :projectId and name = :name and created_environment = 'test'
     and :environment = 'live' and (:boundTenantId::text is null or tenant_id = :boundTenantId)`

type Sought = {
  orgId: string
  projectId: string
  name: string
  environment: Environment
  boundTenantId: string | null
}

export type DomainAllowance = { plan: Plan; domains: number; added: boolean; takeable: boolean }

/** How many domains the org has, whether the project has this one, and whether it may be taken over. */
export const findDomainAllowance = statement<Sought, DomainAllowance>(
  'domains.find_room',
  `select plan, (select count(*) from domains where org_id = :orgId) as domains,
     exists (select 1 from domains where org_id = :orgId and project_id = :projectId and name = :name) as added,
     exists (select 1 from domains where ${takeable}) as takeable
   from orgs where id = :orgId`,
)

/**
 * The row becomes what was asked for and keeps its id, its key, its selector and its proof. What belongs to another
 * region or return path than before is to be looked for again, so a check that is under way no longer counts. A warmup
 * of test mode warmed nothing.
 */
export const takeOverDomain = statement<
  Sought & { tenantId: string | null; region: Region; returnPath: string; inbound: boolean; at: Date },
  DomainRow
>(
  'domains.take_over',
  `update domains set created_environment = 'live', tenant_id = :tenantId, region = :region, return_path = :returnPath, inbound = :inbound,
     ip_pool_id = case when region = :region then ip_pool_id end,
     record_statuses = case when (region, return_path) = (:region, :returnPath) then record_statuses
       else record_statuses - '{RETURN_PATH,SPF,INBOUND}'::text[] end,
     warmup_days = null, warmup_started_at = null, warmup_ends_at = null,
     check_claim = null, next_check_at = :at, updated_at = :at
   where ${takeable}
   returning ${columns}`,
)

/** A vanished identity that is added again starts as a new one does. */
export const restartDomain = statement<{ orgId: string; id: string; at: Date }, DomainRow>(
  'domains.restart',
  `update domains set status = 'pending', dkim_status = 'PENDING', record_statuses = '{}', verified_at = null,
     last_checked_at = null, waiting_since = :at, temporary_failures = 0, simulated_status = null
   where org_id = :orgId and id = :id
   returning ${columns}`,
)

/** The named project, or the default one; none when a bound key names another than its own. */
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

/** Held to the end of the transaction: of those who add one name at the same time, each sees the one before. */
export const holdName = statement<{ name: string }, { held: unknown }>(
  'domains.hold_name',
  "select pg_advisory_xact_lock(hashtextextended('domains.name ' || :name::text, 0)) as held",
)

/**
 * Rows of one name stand under selectors of their own, whichever org they are in: the name has one DNS, and two keys
 * under one selector are none. The caller holds the name. Nothing when the project has the name already.
 */
export const insertDomain = statement<
  {
    orgId: string
    id: string
    projectId: string
    tenantId: string | null
    name: string
    region: Region
    environment: Environment
    returnPath: string
    inbound: boolean
    publicKey: string
    sealedPrivateKey: string
    at: Date
  },
  DomainRow
>(
  'domains.insert',
  `insert into domains (org_id, id, project_id, tenant_id, name, status, dkim_status, region, created_environment,
     return_path, inbound, dkim_selector, dkim_public_key, dkim_private_key, created_at, updated_at, waiting_since,
     next_check_at)
   select :orgId, :id, :projectId, :tenantId, :name, 'pending', 'PENDING', :region, :environment, :returnPath, :inbound,
     (select 'svc' || min(n) from generate_series(1, (select count(*) + 1 from domains where name = :name)) n
      where not exists (select 1 from domains where name = :name and dkim_selector = 'svc' || n)),
     :publicKey, :sealedPrivateKey, :at, :at, :at, :at
   on conflict (org_id, project_id, name) do nothing
   returning ${columns}`,
)

/** Anywhere in the org, save for a key of one project; whose it is otherwise is for the caller to judge. */
export const findDomain = statement<{ orgId: string; projectId: string | null; id: string }, DomainRow>(
  'domains.find',
  `select ${columns} from domains where org_id = :orgId and (:projectId::text is null or project_id = :projectId) and id = :id`,
)

export const lockDomain = statement<{ orgId: string; projectId: string | null; id: string }, DomainRow>(
  'domains.lock',
  `select ${columns} from domains
   where org_id = :orgId and (:projectId::text is null or project_id = :projectId) and id = :id for update`,
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
  `select ${columns} from domains
   where org_id = :orgId and (:tenantId::text is null or tenant_id = :tenantId) and (:projectId::text is null or project_id = :projectId)
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
  `update domains set inbound = coalesce(:inbound, inbound), ip_pool_id = case when :setPool then :poolId else ip_pool_id end,
     updated_at = :at
   where org_id = :orgId and id = :id
   returning ${columns}`,
)

export const deleteDomain = statement<{ orgId: string; id: string }, DomainRow>(
  'domains.delete',
  `delete from domains where org_id = :orgId and id = :id returning ${columns}`,
)

/** Nothing while a window is open. */
export const startWarmup = statement<{ orgId: string; id: string; days: number; endsAt: Date; at: Date }, DomainRow>(
  'domains.start_warmup',
  `update domains set warmup_days = :days, warmup_started_at = :at, warmup_ends_at = :endsAt, updated_at = :at
   where org_id = :orgId and id = :id and (warmup_ends_at is null or warmup_ends_at <= :at)
   returning ${columns}`,
)

export const endWarmup = statement<{ orgId: string; id: string; at: Date }, DomainRow>(
  'domains.end_warmup',
  `update domains set warmup_days = null, warmup_started_at = null, warmup_ends_at = null, updated_at = :at
   where org_id = :orgId and id = :id
   returning ${columns}`,
)

/** What domains in warmup sent that day. */
export const warmupSent = statement<{ orgId: string; ids: string[]; day: string }, { subject: string; used: number }>(
  'domains.warmup_sent',
  `select subject, used from usage_counters
   where org_id = :orgId and subject = any(:ids::text[]) and environment = 'live' and measure = 'warmup' and period = :day`,
)

/**
 * Of every org: whatever is due, the longest first. Until a result is recorded the claim keeps others away for as long
 * as a check could take, and five minutes at least.
 */
export const claimDueDomains = statement<{ claim: string; at: Date; leaseUntil: Date; limit: number }, DomainRow>(
  'domains.claim_due',
  `update domains set check_claim = :claim, next_check_at = :leaseUntil
   where (org_id, id) in (
     select org_id, id from domains where next_check_at <= :at
     order by next_check_at limit :limit for update skip locked)
   returning ${columns}`,
)

/** A check that somebody asked for: one that is under way elsewhere no longer counts. */
export const claimDomain = statement<{ orgId: string; id: string; claim: string; leaseUntil: Date }, DomainRow>(
  'domains.claim_one',
  `update domains set check_claim = :claim,
     next_check_at = case when dkim_status = 'IDENTITY_NOT_FOUND' then null else :leaseUntil::timestamptz end
   where org_id = :orgId and id = :id
   returning ${columns}`,
)

export type RecordedCheck = DomainRow & { status_before: DomainStatus }

/** Recorded once, by the check that holds the claim. A vanished identity stays vanished. */
export const recordCheck = statement<
  {
    orgId: string
    id: string
    claim: string
    status: DomainStatus
    dkimStatus: DkimStatus
    recordStatuses: string
    temporaryFailures: number
    nextCheckAt: Date | null
    at: Date
  },
  RecordedCheck
>(
  'domains.record_check',
  `with held as (
     select org_id as held_org, id as held_id, status as status_before from domains
     where org_id = :orgId and id = :id and check_claim = :claim for update
   )
   update domains set status = :status, dkim_status = :dkimStatus, record_statuses = record_statuses || :recordStatuses::jsonb,
     temporary_failures = :temporaryFailures, next_check_at = :nextCheckAt, check_claim = null, last_checked_at = :at,
     verified_at = case when :status <> 'verified' then null when status_before = 'verified' then verified_at else :at end,
     waiting_since = case
       when :status = 'verified' then null when status_before = 'verified' then :at else waiting_since end,
     updated_at = case when status_before <> :status or dkim_status <> :dkimStatus then :at else updated_at end
   from held
   where org_id = held_org and id = held_id
   returning ${columns}, status_before`,
)

/** For the dev tools, which know no org. The next check is due at once. */
export const simulateDomain = statement<{ id: string; status: DkimStatus; at: Date }, { org_id: string }>(
  'domains.simulate',
  `update domains set simulated_status = :status,
     next_check_at = case when dkim_status = 'IDENTITY_NOT_FOUND' then null else :at::timestamptz end
   where id = :id
   returning org_id`,
)

export type SenderRow = {
  id: string
  name: string
  project_id: string
  default_project: boolean
  tenant_id: string | null
  status: DomainStatus
  created_environment: Environment
  region: Region
  ip_pool_name: string | null
  paused: boolean
  return_path: string
  record_statuses: RecordStatuses
  dkim_selector: string
  dkim_private_key: string | null
  warmup_days: number | null
  warmup_started_at: Date | null
}

/** Every row of that name in the org: one name may stand in several projects, each with its own proof. */
export const findSenders = statement<{ orgId: string; name: string }, SenderRow>(
  'domains.find_senders',
  `select d.id, d.name, d.project_id, p.is_default as default_project, d.tenant_id, d.status, d.created_environment,
     d.region, coalesce(i.provider_name, i.name) as ip_pool_name, coalesce(i.paused, false) as paused, d.return_path,
     d.record_statuses, d.dkim_selector, d.dkim_private_key, d.warmup_days, d.warmup_started_at
   from domains d
   join projects p on p.org_id = d.org_id and p.id = d.project_id
   left join ip_pools i on i.org_id = d.org_id and i.id = d.ip_pool_id
   where d.org_id = :orgId and d.name = :name
   order by d.created_at, d.id`,
)

export const findOrgSlug = statement<{ orgId: string }, { slug: string }>(
  'domains.find_org_slug',
  'select slug from orgs where id = :orgId',
)

export type Ip = { address: string | null; status: 'provisioning' | 'warming' | 'active' }

export type IpPoolRow = {
  id: string
  name: string
  region: Region
  paused: boolean
  ip_count: number
  ips: Ip[]
  created_at: Date
  domain_ids: string[]
}

/** The domains a caller of one project may know of. */
const poolColumns = (projectId: string) => `i.id, i.name, i.region, i.paused, i.ip_count, i.ips, i.created_at,
  array(select d.id from domains d
    where d.org_id = i.org_id and d.ip_pool_id = i.id and (${projectId}::text is null or d.project_id = ${projectId})
    order by d.created_at, d.id) as domain_ids`

/** Held to the end of the transaction: of those who name a pool at the same time, each sees the one before. */
export const holdPoolNames = statement<{ region: Region }, { held: unknown }>(
  'domains.hold_pool_names',
  "select pg_advisory_xact_lock(hashtextextended('ip_pools.provider_name ' || :region::text, 0)) as held",
)

/**
 * A name under which no other pool of the region is known to the provider, of whichever org: with the same one, mail of
 * one would leave from the addresses of the other. Null where the name itself is free. The caller holds the names.
 */
const freePoolName = (id: string, region: string, name: string) => `(
     select nullif(tried, ${name}) from (
       select n, case n when 1 then ${name} else ${name} || '-' || n end as tried
       from generate_series(1, (select count(*) + 1 from ip_pools where region = ${region})) n) as names
     where not exists (
       select 1 from ip_pools o
       where o.region = ${region} and coalesce(o.provider_name, o.name) = tried and o.id <> ${id})
     order by n limit 1)`

export const insertIpPool = statement<
  { orgId: string; id: string; name: string; region: Region; ipCount: number; ips: string; at: Date },
  IpPoolRow
>(
  'domains.insert_ip_pool',
  `insert into ip_pools (org_id, id, name, region, ip_count, ips, created_at, updated_at, provider_name)
   values (:orgId, :id, :name, :region, :ipCount, :ips::jsonb, :at, :at, ${freePoolName(':id', ':region', ':name::text')})
   returning id, name, region, paused, ip_count, ips, created_at, '{}'::text[] as domain_ids`,
)

export const countIps = statement<{ orgId: string }, { n: number }>(
  'domains.count_ips',
  'select coalesce(sum(ip_count), 0)::bigint as n from ip_pools where org_id = :orgId',
)

export const findIpPool = statement<{ orgId: string; projectId: string | null; id: string }, IpPoolRow>(
  'domains.find_ip_pool',
  `select ${poolColumns(':projectId')} from ip_pools i where i.org_id = :orgId and i.id = :id`,
)

/** Held until a domain is assigned to it: a pool deleted in between would fail the update. */
export const holdIpPool = statement<{ orgId: string; id: string }, { region: Region }>(
  'domains.hold_ip_pool',
  'select region from ip_pools where org_id = :orgId and id = :id for key share',
)

export const lockIpPool = statement<{ orgId: string; id: string }, { region: Region; ip_count: number; ips: Ip[] }>(
  'domains.lock_ip_pool',
  'select region, ip_count, ips from ip_pools where org_id = :orgId and id = :id for no key update',
)

export const listIpPools = statement<
  { orgId: string; projectId: string | null; afterAt: string | null; afterId: string | null; limit: number },
  IpPoolRow
>(
  'domains.list_ip_pools',
  `select ${poolColumns(':projectId')} from ip_pools i
   where i.org_id = :orgId and (:afterAt::timestamptz is null or (i.created_at, i.id) < (:afterAt::timestamptz, :afterId))
   order by i.created_at desc, i.id desc
   limit :limit`,
)

/** Null leaves the field as it is. */
export const updateIpPool = statement<
  {
    orgId: string
    id: string
    name: string | null
    paused: boolean | null
    ipCount: number | null
    ips: string | null
    at: Date
  },
  { id: string }
>(
  'domains.update_ip_pool',
  `update ip_pools i set name = coalesce(:name, name), paused = coalesce(:paused, paused), ip_count = coalesce(:ipCount, ip_count),
     ips = coalesce(:ips::jsonb, ips), updated_at = :at,
     provider_name = case when coalesce(:name, name) = name then provider_name
       else ${freePoolName('i.id', 'i.region', ':name::text')} end
   where org_id = :orgId and id = :id
   returning id`,
)

export const deleteIpPool = statement<{ orgId: string; id: string }, { name: string; region: Region }>(
  'domains.delete_ip_pool',
  'delete from ip_pools where org_id = :orgId and id = :id returning name, region',
)
