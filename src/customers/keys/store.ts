import { type Column, columns, number, oneOf, type RowOf, text, texts, time } from '../../platform/db/columns.ts'
import { statement, unseen } from '../../platform/db/statement.ts'
import { type Keyset, newestPage } from '../../platform/ground/cursor.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import type { Plan } from '../orgs/plans.ts'
import type { RequestedKey } from './escalation.ts'
import type { MintedKey } from './key-secret.ts'
import type { ScopeName } from './scopes.ts'

/** What a request with the key is checked against. */
const accessColumns = columns({
  org_id: text,
  id: text,
  environment: oneOf<Environment>(),
  scopes: texts as Column<ScopeName[]>,
  tenant_id: text.orNull,
  project_id: text.orNull,
  allowed_domain_ids: texts.orNull,
  allowed_cidrs: texts.orNull,
  rate_limit_per_minute: number.orNull,
  expires_at: time.orNull,
})

const keyColumns = columns({
  ...accessColumns.table,
  name: text,
  prefix: text,
  last_four: text,
  last_used_at: time.orNull,
  created_at: time,
  revoked_at: time.orNull,
  created_by: text.orNull,
})

export type KeyRow = RowOf<typeof keyColumns>

export type Origin = 'api' | 'dashboard' | 'operator'

export type CallerRow = RowOf<typeof accessColumns> & {
  ordinal: number
  plan: Plan
  org_rate: number | null
  suspended: boolean
  tenant_status: string | null
}

/** This statement and the next have no org id: the key's hash identifies the org. */
export const findCallers = statement<{ hashes: Buffer[] }, CallerRow>(
  'keys.find_callers',
  `select h.ordinal::int as ordinal, ${accessColumns.of('k')},
     o.plan, o.rate_limit_per_minute as org_rate, o.suspended_at is not null as suspended,
     t.status as tenant_status
   from unnest(:hashes::bytea[]) with ordinality as h (hash, ordinal)
   join api_keys k on k.hash = h.hash and k.revoked_at is null
   join orgs o on o.id = k.org_id
   left join tenants t on t.org_id = k.org_id and t.id = k.tenant_id`,
)

export const findKeyEnd = statement<{ hash: Buffer }, Pick<KeyRow, 'revoked_at' | 'expires_at'>>(
  'keys.find_end',
  'select revoked_at, expires_at from api_keys where hash = :hash',
)

/** Writes at most once a minute per key, even when several processes report a use. */
export const touchKeys = statement<{ orgIds: string[]; ids: string[]; at: Date[] }>(
  'keys.touch',
  `update api_keys k set last_used_at = u.at
   from unnest(:orgIds::text[], :ids::text[], :at::timestamptz[]) as u (org_id, id, at)
   where k.org_id = u.org_id and k.id = u.id
     and (k.last_used_at is null or k.last_used_at <= u.at - interval '1 minute')`,
)

type KeyName = { orgId: string; id: string }
type KeyValues = Omit<RequestedKey, 'scopes'> & { name: string; scopes: readonly string[]; at: Date }

export const insertKey = statement<
  KeyName & KeyValues & MintedKey & { origin: Origin; createdBy: string | null },
  KeyRow
>(
  'keys.insert',
  `insert into api_keys (org_id, id, hash, name, environment, prefix, last_four, scopes, tenant_id, project_id,
     allowed_domain_ids, allowed_cidrs, rate_limit_per_minute, expires_at, origin, created_by, created_at, updated_at)
   values (:orgId, :id, :hash, :name, :environment, :prefix, :lastFour, :scopes, :tenantId, :projectId,
     :allowedDomainIds, :allowedCidrs, :ratePerMinute, :expiresAt, :origin, :createdBy, :at, :at)
   returning ${keyColumns}`,
)

export const revokeKey = statement<KeyName & { at: Date }, { revoked_at: Date }>(
  'keys.revoke',
  `update api_keys set revoked_at = :at, updated_at = :at
   where org_id = :orgId and id = :id and revoked_at is null
   returning revoked_at`,
)

/** For an org that is deleted. */
export const revokeAllKeys = statement<{ orgId: string; at: Date }>(
  'keys.revoke_all',
  'update api_keys set revoked_at = :at, updated_at = :at where org_id = :orgId and revoked_at is null',
)

/**
 * The number of active keys, and the creation times of keys made in the last hour, oldest first. Keys made by an
 * operator are not in the second list.
 */
export const countKeys = statement<{ orgId: string; hourAgo: Date }, { active: number; recent: Date[] | null }>(
  'keys.count',
  `select count(*) filter (where revoked_at is null) as active,
     array_agg(created_at order by created_at) filter (where origin <> 'operator' and created_at > :hourAgo) as recent
   from api_keys where org_id = :orgId`,
)

/** The referenced tenant and domains that do not exist in the org. */
export const unknownReferences = statement<
  { orgId: string; tenantId: string | null; domainIds: string[] | null },
  { tenant_missing: boolean; unknown_domains: string[] | null }
>(
  'keys.unknown_references',
  `select
     :tenantId::text is not null and not exists (
       select 1 from tenants where org_id = :orgId and id = :tenantId and status <> 'erased') as tenant_missing,
     (select array_agg(requested.id) from unnest(:domainIds::text[]) as requested (id)
      where not exists (select 1 from domains d where d.org_id = :orgId and d.id = requested.id)) as unknown_domains`,
)

export const lockProject = statement<{ orgId: string; id: string }, { id: string }>(
  'keys.lock_project',
  'select id from projects where org_id = :orgId and id = :id for key share',
)

export const findKey = statement<KeyName, KeyRow>(
  'keys.find',
  `select ${keyColumns} from api_keys where org_id = :orgId and id = :id`,
)

export const lockKey = statement<KeyName, KeyRow>(
  'keys.lock',
  `select ${keyColumns} from api_keys where org_id = :orgId and id = :id for update`,
)

export const updateKey = statement<KeyName & Omit<KeyValues, 'environment' | 'projectId'>, KeyRow>(
  'keys.update',
  `update api_keys set name = :name, scopes = :scopes, tenant_id = :tenantId,
     allowed_domain_ids = :allowedDomainIds, allowed_cidrs = :allowedCidrs,
     rate_limit_per_minute = :ratePerMinute, expires_at = :expiresAt, updated_at = :at
   where org_id = :orgId and id = :id and revoked_at is null
   returning ${keyColumns}`,
)

/** Newest first, with keys that were revoked after `revokedSince`. Other filters that are null match everything. */
export const listKeys = statement<
  Keyset & {
    orgId: string
    tenantId: string | null
    projectId: string | null
    environment: Environment | null
    revokedSince: Date | null
  },
  KeyRow
>(
  'keys.list',
  `select ${keyColumns} from api_keys
   where org_id = :orgId
     and (:tenantId::text is null or tenant_id = :tenantId) and (:projectId::text is null or project_id = :projectId)
     and (:environment::text is null or environment = :environment)
     and (revoked_at is null or revoked_at > :revokedSince::timestamptz) ${newestPage}`,
)

/** In all orgs: a key outlives the membership of the person who created it. */
export const forgetKeyCreator = statement<{ userId: string }>(
  'keys.forget_creator',
  'update api_keys set created_by = null where created_by = :userId',
)

/** The last use of a key is recorded for failed requests too. */
unseen(touchKeys)
