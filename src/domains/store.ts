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
export const insertVerifiedDomain = statement<
  [
    orgId: string,
    id: string,
    projectId: string,
    name: string,
    region: Region,
    publicKey: string,
    sealedPrivateKey: string,
    recordStatuses: string,
    nextCheckAt: Date,
    at: Date,
  ]
>(
  'domains.insert_verified',
  `insert into domains (org_id, id, project_id, name, status, dkim_status, region, created_environment,
     dkim_public_key, dkim_private_key, record_statuses, next_check_at, created_at, updated_at, verified_at,
     last_checked_at)
   values ($1, $2, $3, $4, 'verified', 'SUCCESS', $5, 'live', $6, $7, $8::jsonb, $9, $10, $10, $10, $10)`,
)

/**
 * A row that a test key made and a live one adds: of any tenant for a key of the platform, for a tenant's key only of
 * its own, since the proof stays with the row.
 */
const takeable = `org_id = $1 and project_id = $2 and name = $3 and created_environment = 'test'
     and $4 = 'live' and ($5::text is null or tenant_id = $5)`

type Sought = [orgId: string, projectId: string, name: string, environment: Environment, boundTenantId: string | null]

export type Room = { plan: Plan; domains: number; added: boolean; takeable: boolean }

/** How many domains the org has, whether the project has this one, and whether it may be taken over. */
export const findRoom = statement<Sought, Room>(
  'domains.find_room',
  `select plan, (select count(*) from domains where org_id = $1) as domains,
     exists (select 1 from domains where org_id = $1 and project_id = $2 and name = $3) as added,
     exists (select 1 from domains where ${takeable}) as takeable
   from orgs where id = $1`,
)

/**
 * The row becomes what was asked for and keeps its id, its key, its selector and its proof. What belongs to another
 * region or return path than before is to be looked for again, so a check that is under way no longer counts. A warmup
 * of test mode warmed nothing.
 */
export const takeOverDomain = statement<
  [...Sought, tenantId: string | null, region: Region, returnPath: string, inbound: boolean, at: Date],
  DomainRow
>(
  'domains.take_over',
  `update domains set created_environment = 'live', tenant_id = $6, region = $7, return_path = $8, inbound = $9,
     ip_pool_id = case when region = $7 then ip_pool_id end,
     record_statuses = case when (region, return_path) = ($7, $8) then record_statuses
       else record_statuses - '{RETURN_PATH,SPF,INBOUND}'::text[] end,
     warmup_days = null, warmup_started_at = null, warmup_ends_at = null,
     check_claim = null, next_check_at = $10, updated_at = $10
   where ${takeable}
   returning ${columns}`,
)

/** A vanished identity that is added again starts as a new one does. */
export const restartDomain = statement<[orgId: string, id: string, at: Date], DomainRow>(
  'domains.restart',
  `update domains set status = 'pending', dkim_status = 'PENDING', record_statuses = '{}', verified_at = null,
     last_checked_at = null, waiting_since = $3, temporary_failures = 0, simulated_status = null
   where org_id = $1 and id = $2
   returning ${columns}`,
)

/** The named project, or the default one; none when a bound key names another than its own. */
export const findProjectFor = statement<[orgId: string, boundTo: string | null, id: string | null], { id: string }>(
  'domains.find_project',
  `select id from projects
   where org_id = $1 and ($2::text is null or id = $2)
     and case when coalesce($3, $2) is null then is_default else id = coalesce($3, $2) end`,
)

export const findTenantFor = statement<[orgId: string, id: string], { id: string }>(
  'domains.find_tenant',
  "select id from tenants where org_id = $1 and id = $2 and status <> 'erased'",
)

/** Held to the end of the transaction: of those who add one name at the same time, each sees the one before. */
export const holdName = statement<[name: string], { held: unknown }>(
  'domains.hold_name',
  "select pg_advisory_xact_lock(hashtextextended('domains.name ' || $1::text, 0)) as held",
)

/**
 * Rows of one name stand under selectors of their own, whichever org they are in: the name has one DNS, and two keys
 * under one selector are none. The caller holds the name. Nothing when the project has the name already.
 */
export const insertDomain = statement<
  [
    orgId: string,
    id: string,
    projectId: string,
    tenantId: string | null,
    name: string,
    region: Region,
    environment: Environment,
    returnPath: string,
    inbound: boolean,
    publicKey: string,
    sealedPrivateKey: string,
    at: Date,
  ],
  DomainRow
>(
  'domains.insert',
  `insert into domains (org_id, id, project_id, tenant_id, name, status, dkim_status, region, created_environment,
     return_path, inbound, dkim_selector, dkim_public_key, dkim_private_key, created_at, updated_at, waiting_since,
     next_check_at)
   select $1, $2, $3, $4, $5, 'pending', 'PENDING', $6, $7, $8, $9,
     (select 'svc' || min(n) from generate_series(1, (select count(*) + 1 from domains where name = $5)) n
      where not exists (select 1 from domains where name = $5 and dkim_selector = 'svc' || n)),
     $10, $11, $12, $12, $12, $12
   on conflict (org_id, project_id, name) do nothing
   returning ${columns}`,
)

/** Anywhere in the org, save for a key of one project; whose it is otherwise is for the caller to judge. */
export const findDomain = statement<[orgId: string, projectId: string | null, id: string], DomainRow>(
  'domains.find',
  `select ${columns} from domains where org_id = $1 and ($2::text is null or project_id = $2) and id = $3`,
)

export const lockDomain = statement<[orgId: string, projectId: string | null, id: string], DomainRow>(
  'domains.lock',
  `select ${columns} from domains
   where org_id = $1 and ($2::text is null or project_id = $2) and id = $3 for update`,
)

export const listDomains = statement<
  [
    orgId: string,
    tenantId: string | null,
    projectId: string | null,
    afterAt: string | null,
    afterId: string | null,
    limit: number,
  ],
  DomainRow
>(
  'domains.list',
  `select ${columns} from domains
   where org_id = $1 and ($2::text is null or tenant_id = $2) and ($3::text is null or project_id = $3)
     and ($4::timestamptz is null or (created_at, id) < ($4::timestamptz, $5))
   order by created_at desc, id desc
   limit $6`,
)

/** Null leaves \`inbound\` as it is; the pool is set where \`$4\` says so. */
export const updateDomain = statement<
  [orgId: string, id: string, inbound: boolean | null, setPool: boolean, poolId: string | null, at: Date],
  DomainRow
>(
  'domains.update',
  `update domains set inbound = coalesce($3, inbound), ip_pool_id = case when $4 then $5 else ip_pool_id end,
     updated_at = $6
   where org_id = $1 and id = $2
   returning ${columns}`,
)

export const deleteDomain = statement<[orgId: string, id: string], DomainRow>(
  'domains.delete',
  `delete from domains where org_id = $1 and id = $2 returning ${columns}`,
)

/** Nothing while a window is open. */
export const startWarmup = statement<[orgId: string, id: string, days: number, endsAt: Date, at: Date], DomainRow>(
  'domains.start_warmup',
  `update domains set warmup_days = $3, warmup_started_at = $5, warmup_ends_at = $4, updated_at = $5
   where org_id = $1 and id = $2 and (warmup_ends_at is null or warmup_ends_at <= $5)
   returning ${columns}`,
)

export const endWarmup = statement<[orgId: string, id: string, at: Date], DomainRow>(
  'domains.end_warmup',
  `update domains set warmup_days = null, warmup_started_at = null, warmup_ends_at = null, updated_at = $3
   where org_id = $1 and id = $2
   returning ${columns}`,
)

/** What domains in warmup sent that day. */
export const warmupSent = statement<[orgId: string, ids: string[], day: string], { subject: string; used: number }>(
  'domains.warmup_sent',
  `select subject, used from usage_counters
   where org_id = $1 and subject = any($2::text[]) and environment = 'live' and measure = 'warmup' and period = $3`,
)

/**
 * Of every org: whatever is due, the longest first. Until a result is recorded the claim keeps others away for as long
 * as a check could take, and five minutes at least.
 */
export const claimDueDomains = statement<[claim: string, at: Date, leaseUntil: Date, limit: number], DomainRow>(
  'domains.claim_due',
  `update domains set check_claim = $1, next_check_at = $3
   where (org_id, id) in (
     select org_id, id from domains where next_check_at <= $2
     order by next_check_at limit $4 for update skip locked)
   returning ${columns}`,
)

/** A check that somebody asked for: one that is under way elsewhere no longer counts. */
export const claimDomain = statement<[orgId: string, id: string, claim: string, leaseUntil: Date], DomainRow>(
  'domains.claim_one',
  `update domains set check_claim = $3,
     next_check_at = case when dkim_status = 'IDENTITY_NOT_FOUND' then null else $4::timestamptz end
   where org_id = $1 and id = $2
   returning ${columns}`,
)

export type Recorded = DomainRow & { status_before: DomainStatus }

/** Recorded once, by the check that holds the claim. A vanished identity stays vanished. */
export const recordCheck = statement<
  [
    orgId: string,
    id: string,
    claim: string,
    status: DomainStatus,
    dkimStatus: DkimStatus,
    recordStatuses: string,
    temporaryFailures: number,
    nextCheckAt: Date | null,
    at: Date,
  ],
  Recorded
>(
  'domains.record_check',
  `with held as (
     select org_id as held_org, id as held_id, status as status_before from domains
     where org_id = $1 and id = $2 and check_claim = $3 for update
   )
   update domains set status = $4, dkim_status = $5, record_statuses = record_statuses || $6::jsonb,
     temporary_failures = $7, next_check_at = $8, check_claim = null, last_checked_at = $9,
     verified_at = case when $4 <> 'verified' then null when status_before = 'verified' then verified_at else $9 end,
     waiting_since = case
       when $4 = 'verified' then null when status_before = 'verified' then $9 else waiting_since end,
     updated_at = case when status_before <> $4 or dkim_status <> $5 then $9 else updated_at end
   from held
   where org_id = held_org and id = held_id
   returning ${columns}, status_before`,
)

/** For the dev tools, which know no org. The next check is due at once. */
export const simulateDomain = statement<[id: string, status: DkimStatus, at: Date], { org_id: string }>(
  'domains.simulate',
  `update domains set simulated_status = $2,
     next_check_at = case when dkim_status = 'IDENTITY_NOT_FOUND' then null else $3::timestamptz end
   where id = $1
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
export const findSenders = statement<[orgId: string, name: string], SenderRow>(
  'domains.find_senders',
  `select d.id, d.name, d.project_id, p.is_default as default_project, d.tenant_id, d.status, d.created_environment,
     d.region, coalesce(i.provider_name, i.name) as ip_pool_name, coalesce(i.paused, false) as paused, d.return_path,
     d.record_statuses, d.dkim_selector, d.dkim_private_key, d.warmup_days, d.warmup_started_at
   from domains d
   join projects p on p.org_id = d.org_id and p.id = d.project_id
   left join ip_pools i on i.org_id = d.org_id and i.id = d.ip_pool_id
   where d.org_id = $1 and d.name = $2
   order by d.created_at, d.id`,
)

export const findOrgSlug = statement<[orgId: string], { slug: string }>(
  'domains.find_org_slug',
  'select slug from orgs where id = $1',
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
export const holdPoolNames = statement<[region: Region], { held: unknown }>(
  'domains.hold_pool_names',
  "select pg_advisory_xact_lock(hashtextextended('ip_pools.provider_name ' || $1::text, 0)) as held",
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
  [orgId: string, id: string, name: string, region: Region, ipCount: number, ips: string, at: Date],
  IpPoolRow
>(
  'domains.insert_ip_pool',
  `insert into ip_pools (org_id, id, name, region, ip_count, ips, created_at, updated_at, provider_name)
   values ($1, $2, $3, $4, $5, $6::jsonb, $7, $7, ${freePoolName('$2', '$4', '$3::text')})
   returning id, name, region, paused, ip_count, ips, created_at, '{}'::text[] as domain_ids`,
)

export const countIps = statement<[orgId: string], { n: number }>(
  'domains.count_ips',
  'select coalesce(sum(ip_count), 0)::bigint as n from ip_pools where org_id = $1',
)

export const findIpPool = statement<[orgId: string, projectId: string | null, id: string], IpPoolRow>(
  'domains.find_ip_pool',
  `select ${poolColumns('$2')} from ip_pools i where i.org_id = $1 and i.id = $3`,
)

/** Held until a domain is assigned to it: a pool deleted in between would fail the update. */
export const holdIpPool = statement<[orgId: string, id: string], { region: Region }>(
  'domains.hold_ip_pool',
  'select region from ip_pools where org_id = $1 and id = $2 for key share',
)

export const lockIpPool = statement<[orgId: string, id: string], { region: Region; ip_count: number; ips: Ip[] }>(
  'domains.lock_ip_pool',
  'select region, ip_count, ips from ip_pools where org_id = $1 and id = $2 for no key update',
)

export const listIpPools = statement<
  [orgId: string, projectId: string | null, afterAt: string | null, afterId: string | null, limit: number],
  IpPoolRow
>(
  'domains.list_ip_pools',
  `select ${poolColumns('$2')} from ip_pools i
   where i.org_id = $1 and ($3::timestamptz is null or (i.created_at, i.id) < ($3::timestamptz, $4))
   order by i.created_at desc, i.id desc
   limit $5`,
)

/** Null leaves the field as it is. */
export const updateIpPool = statement<
  [
    orgId: string,
    id: string,
    name: string | null,
    paused: boolean | null,
    ipCount: number | null,
    ips: string | null,
    at: Date,
  ],
  { id: string }
>(
  'domains.update_ip_pool',
  `update ip_pools i set name = coalesce($3, name), paused = coalesce($4, paused), ip_count = coalesce($5, ip_count),
     ips = coalesce($6::jsonb, ips), updated_at = $7,
     provider_name = case when coalesce($3, name) = name then provider_name
       else ${freePoolName('i.id', 'i.region', '$3::text')} end
   where org_id = $1 and id = $2
   returning id`,
)

export const deleteIpPool = statement<[orgId: string, id: string], { name: string; region: Region }>(
  'domains.delete_ip_pool',
  'delete from ip_pools where org_id = $1 and id = $2 returning name, region',
)
