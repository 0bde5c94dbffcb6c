/** Turns an access token into the caller of a request: a live key for the whole org, with the scopes of the grant. */
import { makeBatcher } from '../db/batch.ts'
import type { Db } from '../db/pool.ts'
import { sha256 } from '../ground/crypto.ts'
import type { Log } from '../ground/log.ts'
import type { Caller } from '../keys/caller.ts'
import type { Callers } from '../keys/callers.ts'
import { requestsPerMinute } from '../orgs/plans.ts'
import { roleAllows } from './grantable.ts'
import { findTokens, type TokenRow, touchGrants } from './store/token-rows.ts'
import { isAccessShaped } from './token-secret.ts'

const touchEveryMs = 60_000
const minute = 60_000

const callerOf = (row: TokenRow): Caller => ({
  orgId: row.org_id,
  tenantId: null,
  environment: 'live',
  projectId: null,
  keyId: row.grant_id,
  grant: { userId: row.user_id, clientId: row.client_id },
  // The role of today decides, not the one at the time of the consent.
  scopes: new Set(row.scopes.filter((scope) => roleAllows(row.role, scope))),
  tenantState: undefined,
  allowedDomainIds: null,
  allowedRanges: null,
  ratePerMinute: null,
  buckets: [{ name: `{${row.org_id}}`, limit: row.org_rate ?? requestsPerMinute[row.plan], windowMs: minute }],
  expiresAt: row.expires_at.getTime(),
  org: { plan: row.plan, suspended: row.suspended },
})

/** The part of `Callers` that admission uses, and the end of the work in the background. */
export type TokenCallers = Pick<Callers, 'find' | 'recordUse' | 'drained'>

/** Nothing is cached: a grant that ends and a role that changes take effect on the next request. */
export const makeTokenCallers = ({ db, log, keys }: { db: Db; log: Log; keys: Callers }): TokenCallers => {
  const lookup = makeBatcher<Buffer, Caller | undefined>({
    name: 'oauth.find_tokens',
    run: async (hashes) => {
      const found: (Caller | undefined)[] = new Array(hashes.length).fill(undefined)
      for (const row of await db.rows(findTokens, { hashes })) found[row.ordinal - 1] = callerOf(row)
      return found
    },
  })
  const touch = makeBatcher<{ caller: Caller; atMs: number }, void>({
    name: 'oauth.touch_grants',
    concurrency: 1,
    run: async (uses) => {
      await db.change(touchGrants, {
        orgIds: uses.map(({ caller }) => caller.orgId),
        ids: uses.map(({ caller }) => caller.keyId),
        at: uses.map(({ atMs }) => new Date(atMs)),
      })
      return uses.map(() => undefined)
    },
  })
  const lastTouched = new Map<string, number>()

  const ofToken = async (token: string, atMs: number): Promise<Caller | undefined> => {
    const caller = await lookup.submit(sha256(token))
    return caller && atMs < (caller.expiresAt ?? 0) ? caller : undefined
  }

  return {
    find: (text, atMs) => (isAccessShaped(text) ? ofToken(text, atMs) : keys.find(text, atMs)),
    recordUse: (caller, atMs) => {
      if (!caller.grant) return keys.recordUse(caller, atMs)
      const last = lastTouched.get(caller.keyId)
      if (last !== undefined && atMs - last < touchEveryMs) return
      if (lastTouched.size > 50_000) lastTouched.clear()
      lastTouched.set(caller.keyId, atMs)
      touch.submit({ caller, atMs }).catch((error) => {
        lastTouched.delete(caller.keyId)
        log.warn({ err: error, grant_id: caller.keyId }, 'grant last use update failed')
      })
    },
    drained: async () => {
      await Promise.all([lookup.drained(), touch.drained()])
    },
  }
}
