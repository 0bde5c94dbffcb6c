/** The rules by which a key is let in, in their fixed order, whichever wire it came over. */

import type { Clock } from '../ground/clock.ts'
import { type Code, Failure } from '../ground/errors.ts'
import { contains, parseIp } from '../ground/ip-address.ts'
import type { Caller, TenantState } from '../keys/caller.ts'
import type { Callers } from '../keys/callers.ts'
import type { ScopeName } from '../keys/scopes.ts'
import type { BucketState, Limiter } from '../limits/limiter.ts'
import { readReference, type TenantsByReference } from '../tenants/by-reference.ts'

export type Admitted = {
  caller: Caller
  address: string | null
  /** A tenant reference no tenant holds yet: made once the rest of the request has proven good. */
  newTenantRef: string | undefined
}

/** What a way in asks of whoever takes it. */
export type AccessRule = {
  /** Any one of them opens it. */
  scope: ScopeName | readonly ScopeName[]
  /** Kinds of key that may not enter at all, and the code each is told. */
  bars?: { tenantKey?: Code; projectKey?: Code; testKey?: Code }
}

/** How the bucket stands that speaks for the call: the key's own, unless it was the org's that refused. */
export type Rate = BucketState & { plan: string; scope: 'org' | 'key' }

export type Credentials = {
  key: string | undefined
  address: string | null
  /** Counts the call in the buckets of its key and is told how they stand; without it nothing is counted. */
  onCount?: (rate: Rate) => void
}

export interface Admission {
  /** Key, org, address, buckets and the key's own tenant. */
  pass(knock: Credentials): Promise<Caller>
  /** The tenant a platform key names, then the scope. Without an entry the scope is not asked. */
  narrow(
    key: Caller,
    tenantRef: string | undefined,
    entry: AccessRule | undefined,
  ): Promise<Pick<Admitted, 'caller' | 'newTenantRef'>>
}

const minute = 60_000
const failuresPerMinute = 100

const tenantRefusals: Partial<Record<TenantState, Code>> = {
  suspended: 'TENANT_SUSPENDED',
  archived: 'TENANT_ARCHIVED',
  erased: 'TENANT_NOT_FOUND',
  missing: 'TENANT_NOT_FOUND',
}

const checkAddress = (caller: Caller, address: string | null): void => {
  if (!caller.allowedRanges) return
  const parsed = address === null ? undefined : parseIp(address)
  if (!parsed || !caller.allowedRanges.some((range) => contains(range, parsed))) {
    throw new Failure('IP_NOT_ALLOWED')
  }
}

const checkOwnTenant = ({ tenantState }: Caller): void => {
  const refusal = tenantState && tenantRefusals[tenantState]
  if (refusal) throw new Failure(refusal)
}

const checkEntry = (caller: Caller, bound: Caller, entry: AccessRule): void => {
  const held = typeof entry.scope === 'string' ? caller.scopes.has(entry.scope) : undefined
  if (!(held ?? (entry.scope as readonly string[]).some((name) => caller.scopes.has(name as never)))) {
    throw new Failure('INSUFFICIENT_SCOPE')
  }
  const { bars } = entry
  if (!bars) return
  if (bars.tenantKey && bound.tenantId !== null) throw new Failure(bars.tenantKey)
  if (bars.projectKey && bound.projectId !== null) throw new Failure(bars.projectKey)
  if (bars.testKey && bound.environment === 'test') throw new Failure(bars.testKey)
}

type Needs = { callers: Callers; tenants: TenantsByReference; limiter: Limiter | undefined; clock: Clock }

export const makeAdmission = ({ callers, tenants, limiter, clock }: Needs): Admission => {
  const authenticate = async (key: string | undefined, address: string | null, now: number): Promise<Caller> => {
    const caller = key === undefined ? undefined : await callers.find(key, now)
    if (caller) return caller
    // Guessing is bounded per address; a good key from the same address is never held up by it.
    const failures = { name: `{auth}:${address ?? 'unknown'}`, limit: failuresPerMinute, windowMs: minute }
    const taken = await limiter?.take([failures], now)
    if (taken && !taken.allowed) {
      throw new Failure('RATE_LIMITED', { retryAfter: ((taken.states[0]?.resetAt ?? now) - now) / 1000 })
    }
    throw new Failure('UNAUTHORIZED')
  }

  const spendRate = async (caller: Caller, now: number, onCount: (rate: Rate) => void): Promise<void> => {
    if (!limiter) return
    const { buckets } = caller
    const answer = limiter.take(buckets, now)
    const taken = answer instanceof Promise ? await answer : answer
    if (!taken) return
    const speaking = taken.allowed ? 0 : taken.refusedBy
    const state = taken.states[speaking] as BucketState
    const scope = speaking === buckets.length - 1 ? 'org' : 'key'
    onCount({ ...state, plan: caller.org.plan, scope })
    if (!taken.allowed) throw new Failure('RATE_LIMITED', { retryAfter: (state.resetAt - now) / 1000 })
  }

  return {
    pass: async ({ key, address, onCount }) => {
      const now = clock.millis()
      const caller = await authenticate(key, address, now)
      if (caller.org.suspended) throw new Failure('ORG_SUSPENDED')
      checkAddress(caller, address)
      if (onCount) await spendRate(caller, now, onCount)
      callers.used(caller, now)
      checkOwnTenant(caller)
      return caller
    },
    narrow: async (key, tenantRef, entry) => {
      let caller = key
      let newTenantRef: string | undefined
      if (tenantRef !== undefined) {
        if (key.tenantId !== null) throw new Failure('TENANT_KEY_FORBIDDEN')
        const ref = readReference(tenantRef)
        const tenantId = await tenants.find(key.orgId, ref)
        if (tenantId === undefined) newTenantRef = ref
        else caller = { ...key, tenantId }
      }
      if (entry) checkEntry(caller, key, entry)
      return { caller, newTenantRef }
    },
  }
}
