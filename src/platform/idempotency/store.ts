import { statement, unseen } from '../db/statement.ts'

export type ClaimRow = {
  ordinal: number
  /** True when this request holds the key. */
  claimed: boolean
  /** Set when this request holds the key in place of one that was interrupted: the first claim of those. */
  first_claim: string | null
  fingerprint: Buffer
  /** Null when an earlier release claimed the key. */
  bindings: Buffer | null
  locked: boolean
  status: number | null
  body: string | null
}

/** A key without restrictions may see what others claimed. Null when an earlier release claimed the key. */
const sameRequest = `held.fingerprint = excluded.fingerprint
       and (octet_length(excluded.bindings) = 0 or coalesce(held.bindings, excluded.bindings) = excluded.bindings)`

/**
 * Claims keys in one statement. A key can be claimed when it is new or has expired, and by the same request when the one
 * that held it was interrupted: its lock expired or its process is gone, without a recorded response. What an
 * interrupted request released, or an earlier release abandoned, has no process and can be claimed by any request.
 * Otherwise the row that holds the key is returned.
 */
export const claimKeys = statement<
  {
    orgIds: string[]
    tenantIds: (string | null)[]
    environments: string[]
    keys: string[]
    fingerprints: Buffer[]
    bindings: Buffer[]
    claims: string[]
    process: string
    goneProcesses: string[]
    now: Date
    lockedUntil: Date
    expiresAt: Date
  },
  ClaimRow
>(
  'idempotency.claim',
  `with requested as (
     select org_id, tenant_id, environment, key, fingerprint, bindings, claim, ordinal
     from unnest(:orgIds::text[], :tenantIds::text[], :environments::text[], :keys::text[], :fingerprints::bytea[],
       :bindings::bytea[], :claims::text[])
       with ordinality as r (org_id, tenant_id, environment, key, fingerprint, bindings, claim, ordinal)
   ), claimed as (
     insert into idempotency_keys as held
       (org_id, tenant_id, environment, key, fingerprint, bindings, claim, process_id, locked_until, created_at,
        expires_at)
     select org_id, tenant_id, environment, key, fingerprint, bindings, claim, :process, :lockedUntil, :now, :expiresAt
     from requested
     order by ordinal
     on conflict (org_id, tenant_id, environment, key) do update set
       fingerprint = excluded.fingerprint, bindings = excluded.bindings, claim = excluded.claim,
       process_id = excluded.process_id,
       first_claim = case when held.status is null and held.expires_at > :now and ${sameRequest}
         then coalesce(held.first_claim, held.claim) end,
       locked_until = excluded.locked_until, status = null, body = null, created_at = excluded.created_at,
       expires_at = excluded.expires_at
     where (held.expires_at <= :now and (held.locked_until is null or held.locked_until <= :now))
       or (held.status is null and held.process_id is null and held.locked_until <= :now)
       or (held.status is null and (held.locked_until <= :now or held.process_id = any(:goneProcesses::text[]))
         and ${sameRequest})
     returning claim, first_claim
   )
   select r.ordinal::int as ordinal, c.claim is not null as claimed, c.first_claim,
     coalesce(held.fingerprint, r.fingerprint) as fingerprint, held.bindings,
     coalesce(held.locked_until > :now, false) as locked, held.status, held.body
   from requested r
   left join claimed c on c.claim = r.claim
   left join idempotency_keys held on c.claim is null and held.org_id = r.org_id
     and held.tenant_id is not distinct from r.tenant_id and held.environment = r.environment and held.key = r.key`,
)

/** Records responses and releases their locks. A claim that was lost in the meantime changes nothing. */
export const recordResponses = statement<{
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
   from unnest(:orgIds::text[], :tenantIds::text[], :environments::text[], :keys::text[], :claims::text[],
     :statuses::int[], :bodies::text[])
     as a (org_id, tenant_id, environment, key, claim, status, body)
   where held.org_id = a.org_id and held.tenant_id is not distinct from a.tenant_id
     and held.environment = a.environment and held.key = a.key and held.claim = a.claim`,
)

type OwnClaim = { orgId: string; tenantId: string | null; environment: string; key: string; claim: string }

/** A claim that was lost in the meantime finds no row. */
const ownClaim = `org_id = :orgId and tenant_id is not distinct from :tenantId and environment = :environment
     and key = :key and claim = :claim`

export const recordProvisionalResponse = statement<
  OwnClaim & { status: number; body: string; lockedUntil: Date; expiresAt: Date }
>(
  'idempotency.record_provisional',
  `update idempotency_keys set status = :status, body = :body, locked_until = :lockedUntil, expires_at = :expiresAt
   where ${ownClaim}`,
)

export const freeKey = statement<OwnClaim>(
  'idempotency.free',
  `delete from idempotency_keys
   where ${ownClaim}`,
)

/** For a request that has done nothing. A key that it took over from an interrupted one keeps the ids of that one. */
export const freeUnusedKey = statement<OwnClaim & { now: Date }>(
  'idempotency.free_unused',
  `with returned as (
     update idempotency_keys set locked_until = :now, process_id = null
     where ${ownClaim} and first_claim is not null
   )
   delete from idempotency_keys
   where ${ownClaim} and first_claim is null`,
)

/** Keeps the row of an interrupted request, so that a later one still gets the ids that are derived from it. */
export const freeInterruptedKey = statement<OwnClaim & { now: Date }>(
  'idempotency.free_interrupted',
  `update idempotency_keys set locked_until = :now, process_id = null
   where ${ownClaim}`,
)

/** Keeps a later request from claiming the key until the transaction ends. No row if the key is free. */
export const lockClaimedKey = statement<Omit<OwnClaim, 'claim'>, { claim: string }>(
  'idempotency.lock',
  `select claim from idempotency_keys
   where org_id = :orgId and tenant_id is not distinct from :tenantId and environment = :environment and key = :key
   for update`,
)

/** Deletes one chunk of expired keys that no request holds. */
export const sweepKeys = statement<{ now: Date; limit: number }>(
  'idempotency.sweep',
  `delete from idempotency_keys where ctid in (
     select ctid from idempotency_keys
     where expires_at <= :now and (locked_until is null or locked_until <= :now)
     order by expires_at
     limit :limit
     for update skip locked)`,
)

/** Recorded responses can contain addresses. */
export const eraseTenantClaims = statement<{ orgId: string; tenantId: string; limit: number }>(
  'idempotency.erase_tenant',
  `delete from idempotency_keys where ctid in (
     select ctid from idempotency_keys where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)

/** Adds to the beats of a process, and returns those of the others. */
export const beat = statement<{ id: string; at: Date }, { id: string; beats: number }>(
  'idempotency.beat',
  `with own as (
     insert into service_processes as p (id, beats, seen_at) values (:id, 1, :at)
     on conflict (id) do update set beats = p.beats + 1, seen_at = excluded.seen_at
   )
   select id, beats from service_processes where id <> :id`,
)

export const endProcess = statement<{ id: string; at: Date }>(
  'idempotency.end_process',
  'update service_processes set beats = -1, seen_at = :at where id = :id',
)

export const forgetProcesses = statement<{ before: Date }>(
  'idempotency.forget_processes',
  'delete from service_processes where seen_at < :before',
)

/** A retry finds its claim, or waits until the lock expires. */
unseen(claimKeys, recordResponses, recordProvisionalResponse, freeKey, freeUnusedKey, freeInterruptedKey)
