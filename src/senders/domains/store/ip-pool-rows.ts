import { columns, flag, type Given, json, number, oneOf, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type Keyset, newestPageOf } from '../../../platform/ground/cursor.ts'
import type { Region } from '../region.ts'

export type Ip = { address: string | null; status: 'provisioning' | 'warming' | 'active' }

const ownColumns = columns({
  id: text,
  name: text,
  region: oneOf<Region>(),
  paused: flag,
  ip_count: number,
  ips: json<Ip[]>(),
  created_at: time,
})

export type IpPoolRow = RowOf<typeof ownColumns> & { domain_ids: string[] }

/** The columns of a pool. A caller that is bound to a project sees only the domains of that project. */
const poolColumns = `${ownColumns.of('i')},
  array(select d.id from domains d
    where d.org_id = i.org_id and d.ip_pool_id = i.id and (:projectId::text is null or d.project_id = :projectId)
    order by d.created_at, d.id) as domain_ids`

/** Locks the pool names of a region until the transaction ends, so that concurrent changes see each other's names. */
export const lockPoolNames = statement<{ region: Region }, { held: unknown }>(
  'domains.lock_pool_names',
  "select pg_advisory_xact_lock(hashtextextended('ip_pools.provider_name ' || :region::text, 0)) as held",
)

/**
 * A name that the provider does not use for another pool of the region, in any org. If two orgs shared a name, mail of
 * one would leave from the addresses of the other. Null when the pool's own name is free. The caller locks the names.
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
  Given<IpPoolRow, 'id' | 'name' | 'region' | 'ip_count'> & { orgId: string; ips: string; at: Date },
  IpPoolRow
>(
  'domains.insert_ip_pool',
  `insert into ip_pools (org_id, id, name, region, ip_count, ips, created_at, updated_at, provider_name)
   values (:orgId, :id, :name, :region, :ipCount, :ips::jsonb, :at, :at,
     ${freePoolName(':id', ':region', ':name::text')})
   returning ${ownColumns}, '{}'::text[] as domain_ids`,
)

export const countIps = statement<{ orgId: string }, { n: number }>(
  'domains.count_ips',
  'select coalesce(sum(ip_count), 0)::bigint as n from ip_pools where org_id = :orgId',
)

export const findIpPool = statement<{ orgId: string; projectId: string | null; id: string }, IpPoolRow>(
  'domains.find_ip_pool',
  `select ${poolColumns} from ip_pools i where i.org_id = :orgId and i.id = :id`,
)

/** Prevents deletion of the pool until a domain is assigned to it. Otherwise the assignment might fail. */
export const shareLockIpPool = statement<{ orgId: string; id: string }, { region: Region }>(
  'domains.share_lock_ip_pool',
  'select region from ip_pools where org_id = :orgId and id = :id for key share',
)

export const lockIpPool = statement<{ orgId: string; id: string }, { region: Region; ip_count: number; ips: Ip[] }>(
  'domains.lock_ip_pool',
  'select region, ip_count, ips from ip_pools where org_id = :orgId and id = :id for no key update',
)

export const listIpPools = statement<Keyset & { orgId: string; projectId: string | null }, IpPoolRow>(
  'domains.list_ip_pools',
  `select ${poolColumns} from ip_pools i where i.org_id = :orgId ${newestPageOf('i')}`,
)

/** A null field stays unchanged. */
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
  `update ip_pools i
   set name = coalesce(:name, name), paused = coalesce(:paused, paused), ip_count = coalesce(:ipCount, ip_count),
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
