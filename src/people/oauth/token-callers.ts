/** Turns an access token into the caller of a request: a live key for the whole org, with the scopes of the grant. */
import type { Caller } from '../../customers/keys/caller.ts'
import { type Callers, makeLastUses } from '../../customers/keys/callers.ts'
import { requestsPerMinute } from '../../customers/orgs/plans.ts'
import { makeBatcher } from '../../platform/db/batch.ts'
import type { Db } from '../../platform/db/pool.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import type { Log } from '../../platform/ground/log.ts'
import { minuteMs } from '../../platform/ground/units.ts'
import { roleAllows } from './grantable.ts'
import { findTokens, type TokenRow, touchGrants } from './store/token-rows.ts'
import { isAccessShaped } from './token-secret.ts'

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
  buckets: [{ name: `{${row.org_id}}`, limit: row.org_rate ?? requestsPerMinute[row.plan], windowMs: minuteMs }],
  expiresAt: row.expires_at.getTime(),
  org: { plan: row.plan, suspended: row.suspended },
})

/** The part of `Callers` that admission uses, and the end of the work in the background. */
type TokenCallers = Pick<Callers, 'find' | 'recordUse' | 'drained'>

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
  const lastUses = makeLastUses(db, touchGrants, (err, grant_id) =>
    log.warn({ err, grant_id }, 'grant last use update failed'),
  )

  const ofToken = async (token: string, atMs: number): Promise<Caller | undefined> => {
    const caller = await lookup.submit(sha256(token))
    return caller && atMs < (caller.expiresAt ?? 0) ? caller : undefined
  }

  return {
    find: (text, atMs) => (isAccessShaped(text) ? ofToken(text, atMs) : keys.find(text, atMs)),
    recordUse: (caller, atMs) => {
      if (caller.grant) lastUses.record(caller, atMs)
      else keys.recordUse(caller, atMs)
    },
    drained: async () => {
      await Promise.all([lookup.drained(), lastUses.drained()])
    },
  }
}
