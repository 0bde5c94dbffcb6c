import { makeBatcher } from '../../platform/db/batch.ts'
import type { Db } from '../../platform/db/pool.ts'
import { makeShortCache } from '../../platform/db/short-cache.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { parseRange } from '../../platform/ground/ip-address.ts'
import type { Log } from '../../platform/ground/log.ts'
import { minuteMs } from '../../platform/ground/units.ts'
import type { Bucket } from '../../platform/limits/limiter.ts'
import { requestsPerMinute } from '../orgs/plans.ts'
import type { Caller, TenantState } from './caller.ts'
import { isKeyShaped, startsLikeKey } from './key-secret.ts'
import { type CallerRow, findCallers, findKeyEnd, touchKeys } from './store.ts'

const touchEveryMs = 60_000

/** The braces are a Redis hash tag. They keep all buckets of an org on the same cluster node. */
const bucketsOf = (row: CallerRow): Bucket[] => {
  const org = {
    name: `{${row.org_id}}`,
    limit: row.org_rate ?? requestsPerMinute[row.plan],
    windowMs: minuteMs,
  }
  if (row.rate_limit_per_minute === null) return [org]
  return [{ name: `{${row.org_id}}:${row.id}`, limit: row.rate_limit_per_minute, windowMs: minuteMs }, org]
}

const callerOf = (row: CallerRow): Caller => ({
  orgId: row.org_id,
  tenantId: row.tenant_id,
  environment: row.environment,
  projectId: row.project_id,
  keyId: row.id,
  scopes: new Set(row.scopes),
  tenantState: row.tenant_id === null ? undefined : ((row.tenant_status ?? 'missing') as TenantState),
  allowedDomainIds: row.allowed_domain_ids,
  allowedRanges: row.allowed_cidrs?.map((text) => parseRange(text)).filter((range) => range !== undefined) ?? null,
  ratePerMinute: row.rate_limit_per_minute,
  buckets: bucketsOf(row),
  expiresAt: row.expires_at?.getTime() ?? null,
  org: {
    plan: row.plan,
    suspended: row.suspended,
  },
})

/** Why a text is not a usable key. `other` is not a key at all, `mistyped` has a wrong length or checksum. */
export type KeyFault = 'other' | 'mistyped' | 'unknown' | 'revoked' | 'expired'

type OnFailure = (error: unknown, keyId: string) => void

/** Records the last uses of keys, or of the grants behind tokens, in the background and at most once a minute each. */
export const makeLastUses = (db: Db, statement: typeof touchKeys, onFailure: OnFailure) => {
  const touch = makeBatcher<{ caller: Caller; atMs: number }, void>({
    name: statement.name,
    concurrency: 1,
    run: async (uses) => {
      await db.change(statement, {
        orgIds: uses.map((use) => use.caller.orgId),
        ids: uses.map((use) => use.caller.keyId),
        at: uses.map((use) => new Date(use.atMs)),
      })
      return uses.map(() => undefined)
    },
  })
  const lastTouched = new Map<string, number>()
  return {
    record: (caller: Caller, atMs: number): void => {
      const last = lastTouched.get(caller.keyId)
      if (last !== undefined && atMs - last < touchEveryMs) return
      if (lastTouched.size > 50_000) lastTouched.clear()
      lastTouched.set(caller.keyId, atMs)
      touch.submit({ caller, atMs }).catch((error) => {
        lastTouched.delete(caller.keyId)
        onFailure(error, caller.keyId)
      })
    },
    drained: touch.drained,
  }
}

export const makeCallers = ({ db, log, trusted }: { db: Db; log: Log; trusted: () => boolean }) => {
  /** By the key itself, which each of its requests brings anyway: hashing it every time takes longer than all other checks. */
  const copies = makeShortCache<Caller>({ trusted })
  const lookup = makeBatcher<Buffer, Caller | undefined>({
    name: 'keys.find_callers',
    run: async (hashes) => {
      const found: (Caller | undefined)[] = new Array(hashes.length).fill(undefined)
      for (const row of await db.rows(findCallers, { hashes })) found[row.ordinal - 1] = callerOf(row)
      return found
    },
  })
  const lastUses = makeLastUses(db, touchKeys, (err, key_id) => log.warn({ err, key_id }, 'key last use update failed'))

  const unlessExpired = (caller: Caller, atMs: number): Caller | undefined =>
    caller.expiresAt !== null && atMs >= caller.expiresAt ? undefined : caller

  const read = async (key: string, atMs: number): Promise<Caller | undefined> => {
    const mark = copies.mark()
    const caller = await lookup.submit(sha256(key))
    if (!caller) return undefined
    copies.keep(key, caller.orgId, caller, mark)
    return unlessExpired(caller, atMs)
  }

  return {
    /** Returns the caller for a key string, or undefined if the key is unknown, revoked or expired at `atMs`. */
    find: (key: string, atMs: number) => {
      const copy = copies.get(key)
      if (copy) return unlessExpired(copy, atMs)
      return isKeyShaped(key) ? read(key, atMs) : undefined
    },
    /** Returns why `find` has no caller. Undefined if the key is usable. Reads the database for a well-formed key. */
    faultOf: async (key: string, atMs: number) => {
      if (!startsLikeKey(key)) return 'other'
      if (!isKeyShaped(key)) return 'mistyped'
      const row = await db.row(findKeyEnd, { hash: sha256(key) })
      if (!row) return 'unknown'
      if (row.revoked_at !== null) return 'revoked'
      return row.expires_at !== null && atMs >= row.expires_at.getTime() ? 'expired' : undefined
    },
    /** Updates the key's last use in the background, at most once a minute. */
    recordUse: lastUses.record,
    forgetOrg: copies.forgetOrg,
    forgetAll: copies.clear,
    drained: async () => {
      await Promise.all([lookup.drained(), lastUses.drained()])
    },
  }
}

export type Callers = ReturnType<typeof makeCallers>
