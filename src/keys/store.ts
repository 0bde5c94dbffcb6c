import { statement } from '../db/statement.ts'
import type { Environment } from '../ground/scope.ts'
import type { Plan } from '../orgs/plans.ts'
import type { ScopeName } from './scopes.ts'

export type KeyRow = {
  org_id: string
  id: string
  name: string
  environment: Environment
  prefix: string
  last_four: string
  scopes: ScopeName[]
  tenant_id: string | null
  project_id: string | null
  allowed_domain_ids: string[] | null
  allowed_cidrs: string[] | null
  rate_limit_per_minute: number | null
  expires_at: Date | null
  last_used_at: Date | null
  created_at: Date
  revoked_at: Date | null
  created_by: string | null
}

export type CallerRow = Pick<
  KeyRow,
  | 'org_id'
  | 'id'
  | 'environment'
  | 'scopes'
  | 'tenant_id'
  | 'project_id'
  | 'allowed_domain_ids'
  | 'allowed_cidrs'
  | 'rate_limit_per_minute'
  | 'expires_at'
> & {
  ordinal: number
  plan: Plan
  org_rate: number | null
  suspended: boolean
  tenant_status: string | null
}

/** The one statement that starts from no org: the hash says whose key it is. */
export const findCallers = statement<[hashes: Buffer[]], CallerRow>(
  'keys.find_callers',
  `select h.ordinal::int as ordinal, k.org_id, k.id, k.environment, k.scopes, k.tenant_id, k.project_id,
     k.allowed_domain_ids, k.allowed_cidrs, k.rate_limit_per_minute, k.expires_at,
     o.plan, o.rate_limit_per_minute as org_rate, o.suspended_at is not null as suspended,
     t.status as tenant_status
   from unnest($1::bytea[]) with ordinality as h (hash, ordinal)
   join api_keys k on k.hash = h.hash and k.revoked_at is null
   join orgs o on o.id = k.org_id
   left join tenants t on t.org_id = k.org_id and t.id = k.tenant_id`,
)

/** At most once a minute per key, whatever several processes ask for. */
export const touchKeys = statement<[orgIds: string[], ids: string[], at: Date[]]>(
  'keys.touch',
  `update api_keys k set last_used_at = u.at
   from unnest($1::text[], $2::text[], $3::timestamptz[]) as u (org_id, id, at)
   where k.org_id = u.org_id and k.id = u.id
     and (k.last_used_at is null or k.last_used_at <= u.at - interval '1 minute')`,
)

export const insertKey = statement<
  [
    orgId: string,
    id: string,
    hash: Buffer,
    name: string,
    environment: Environment,
    prefix: string,
    lastFour: string,
    scopes: string[],
    tenantId: string | null,
    projectId: string | null,
    allowedDomainIds: string[] | null,
    allowedCidrs: string[] | null,
    ratePerMinute: number | null,
    expiresAt: Date | null,
    at: Date,
  ]
>(
  'keys.insert',
  `insert into api_keys (org_id, id, hash, name, environment, prefix, last_four, scopes, tenant_id, project_id,
     allowed_domain_ids, allowed_cidrs, rate_limit_per_minute, expires_at, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)`,
)

/** Newest first, with those revoked since; `after` is where the page before ended. */
export const listKeys = statement<
  [orgId: string, revokedSince: Date, afterAt: string | null, afterId: string | null, limit: number],
  KeyRow
>(
  'keys.list',
  `select org_id, id, name, environment, prefix, last_four, scopes, tenant_id, project_id, allowed_domain_ids,
     allowed_cidrs, rate_limit_per_minute, expires_at, last_used_at, created_at, revoked_at, created_by
   from api_keys
   where org_id = $1 and (revoked_at is null or revoked_at > $2)
     and ($3::timestamptz is null or (created_at, id) < ($3::timestamptz, $4))
   order by created_at desc, id desc
   limit $5`,
)

export const revokeKey = statement<[orgId: string, id: string, at: Date], { revoked_at: Date }>(
  'keys.revoke',
  `update api_keys set revoked_at = $3, updated_at = $3
   where org_id = $1 and id = $2 and revoked_at is null
   returning revoked_at`,
)
