import { statement } from '../db/statement.ts'

export type ClaimRow = {
  ordinal: number
  /** Set when the claim is ours. */
  claimed: boolean
  fingerprint: Buffer
  locked: boolean
  status: number | null
  body: string | null
}

/**
 * Claims keys in one statement. A key is free when it is new, past its window, or held by a request that died
 * (its lock ran out) without leaving an answer. Otherwise the row that stands in the way is returned.
 */
export const claimKeys = statement<
  {
    orgIds: string[]
    tenantIds: (string | null)[]
    environments: string[]
    keys: string[]
    fingerprints: Buffer[]
    claims: string[]
    now: Date
    lockedUntil: Date
    expiresAt: Date
  },
  ClaimRow
>(
  'idempotency.claim',
  `with asked as (
     select * from unnest(:orgIds::text[], :tenantIds::text[], :environments::text[], :keys::text[], :fingerprints::bytea[], :claims::text[])
       with ordinality as a (org_id, tenant_id, environment, key, fingerprint, claim, ordinal)
   ), taken as (
     insert into idempotency_keys as held
       (org_id, tenant_id, environment, key, fingerprint, claim, locked_until, created_at, expires_at)
     select org_id, tenant_id, environment, key, fingerprint, claim, :lockedUntil, :now, :expiresAt from asked order by ordinal
     on conflict (org_id, tenant_id, environment, key) do update set
       fingerprint = excluded.fingerprint, claim = excluded.claim, locked_until = excluded.locked_until,
       status = null, body = null, created_at = excluded.created_at, expires_at = excluded.expires_at
     where (held.status is null and held.locked_until <= :now)
       or (held.expires_at <= :now and (held.locked_until is null or held.locked_until <= :now))
     returning claim
   )
   select a.ordinal::int as ordinal, t.claim is not null as claimed,
     coalesce(held.fingerprint, a.fingerprint) as fingerprint,
     coalesce(held.locked_until > :now, false) as locked, held.status, held.body
   from asked a
   left join taken t on t.claim = a.claim
   left join idempotency_keys held on t.claim is null and held.org_id = a.org_id
     and held.tenant_id is not distinct from a.tenant_id and held.environment = a.environment and held.key = a.key`,
)

/** Records an answer and releases the lock; nothing happens to a claim that was lost meanwhile. */
export const recordAnswers = statement<{
  orgIds: string[]
  tenantIds: (string | null)[]
  environments: string[]
  keys: string[]
  claims: string[]
  statuses: number[]
  bodies: string[]
  expiresAt: Date
}>(
  'idempotency.record',
  `update idempotency_keys held set
     status = a.status, body = a.body, locked_until = null, expires_at = :expiresAt
   from unnest(:orgIds::text[], :tenantIds::text[], :environments::text[], :keys::text[], :claims::text[], :statuses::int[], :bodies::text[])
     as a (org_id, tenant_id, environment, key, claim, status, body)
   where held.org_id = a.org_id and held.tenant_id is not distinct from a.tenant_id
     and held.environment = a.environment and held.key = a.key and held.claim = a.claim`,
)

export const freeKey = statement<{
  orgId: string
  tenantId: string | null
  environment: string
  key: string
  claim: string
}>(
  'idempotency.free',
  `delete from idempotency_keys
   where org_id = :orgId and tenant_id is not distinct from :tenantId and environment = :environment and key = :key and claim = :claim`,
)

/** One chunk of keys whose window is over and that nobody holds. */
export const sweepKeys = statement<{ now: Date; limit: number }>(
  'idempotency.sweep',
  `delete from idempotency_keys where ctid in (
     select ctid from idempotency_keys
     where expires_at <= :now and (locked_until is null or locked_until <= :now)
     order by expires_at
     limit :limit
     for update skip locked)`,
)
