/** Checks an API key and its access, in a fixed order. HTTP and SMTP use the same checks. */
import type { Clock } from '../../platform/ground/clock.ts'
import { type Code, Failure } from '../../platform/ground/errors.ts'
import { contains, parseIp } from '../../platform/ground/ip-address.ts'
import { andThen, type MaybePromise } from '../../platform/ground/maybe-promise.ts'
import { minuteMs } from '../../platform/ground/units.ts'
import type { BucketState, Limiter, TakeResult } from '../../platform/limits/limiter.ts'
import { bucketsPerAddress, refusedUntil } from '../../platform/limits/per-address.ts'
import type { Caller, TenantState } from '../keys/caller.ts'
import type { Callers } from '../keys/callers.ts'
import type { ScopeName } from '../keys/scopes.ts'
import { readReference, type TenantsByReference } from '../tenants/by-reference.ts'

export type Admitted = {
  caller: Caller
  address: string | null
  /** A tenant reference that does not exist yet. The tenant is created after the rest of the request is validated. */
  newTenantRef: string | undefined
}

/** The access that a route requires. */
export type AccessRule = {
  /** With several scopes, any one of them is enough. */
  scope: ScopeName | readonly ScopeName[]
  /** Kinds of key that are always refused, each with its error code. */
  forbiddenKeys?: { tenantKey?: Code; projectKey?: Code; testKey?: Code }
}

/** The state of the bucket that is reported to the caller: the key's own, unless the org's refused the call. */
export type Rate = BucketState & { plan: string; scope: 'org' | 'key' }

export type Credentials = {
  key: string | undefined
  address: string | null
  /** Receives the rate state after the call is counted. Without this callback the call is not counted. */
  onCount?: ((rate: Rate) => void) | undefined
}

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

const checkAccess = (key: Caller, { scope, forbiddenKeys }: AccessRule): void => {
  const allowed = typeof scope === 'string' ? key.scopes.has(scope) : scope.some((name) => key.scopes.has(name))
  if (!allowed) throw new Failure('INSUFFICIENT_SCOPE')
  if (!forbiddenKeys) return
  if (forbiddenKeys.tenantKey && key.tenantId !== null) throw new Failure(forbiddenKeys.tenantKey)
  if (forbiddenKeys.projectKey && key.projectId !== null) throw new Failure(forbiddenKeys.projectKey)
  if (forbiddenKeys.testKey && key.environment === 'test') throw new Failure(forbiddenKeys.testKey)
}

type Needs = {
  callers: Pick<Callers, 'find' | 'recordUse'>
  tenants: TenantsByReference
  limiter: Limiter | undefined
  clock: Clock
}

export const makeAdmission = ({ callers, tenants, limiter, clock }: Needs) => {
  const refuse = async (address: string | null, now: number): Promise<never> => {
    // Failed attempts are limited per address. A valid key from the same address is not affected.
    const limit = { limit: failuresPerMinute, windowMs: minuteMs }
    const buckets = bucketsPerAddress(address, limit, (network) => `{auth}:${network}`)
    const until = refusedUntil(await limiter?.take(buckets, now))
    if (until !== undefined) throw new Failure('RATE_LIMITED', { retryAfter: (until - now) / 1000 })
    throw new Failure('UNAUTHORIZED')
  }

  const authenticate = (key: string | undefined, address: string | null, now: number): MaybePromise<Caller> =>
    andThen(key === undefined ? undefined : callers.find(key, now), (caller) => caller ?? refuse(address, now))

  const report = (caller: Caller, taken: TakeResult, now: number, onCount: (rate: Rate) => void): void => {
    const reported = taken.allowed ? 0 : taken.refusedBy
    const { limit, remaining, resetAt } = taken.states[reported] as BucketState
    const scope = reported === caller.buckets.length - 1 ? 'org' : 'key'
    onCount({ limit, remaining, resetAt, plan: caller.org.plan, scope })
    if (!taken.allowed) throw new Failure('RATE_LIMITED', { retryAfter: (resetAt - now) / 1000 })
  }

  const spendRate = (caller: Caller, now: number, onCount: Credentials['onCount']): MaybePromise<void> =>
    onCount && limiter
      ? andThen(limiter.take(caller.buckets, now), (taken) => {
          if (taken) report(caller, taken, now, onCount)
        })
      : undefined

  const selectTenant = (key: Caller, tenantRef: string) => {
    if (key.tenantId !== null) throw new Failure('TENANT_KEY_FORBIDDEN')
    const ref = readReference(tenantRef)
    return andThen(tenants.find(key.orgId, ref), (tenantId) =>
      tenantId === undefined
        ? { caller: key, newTenantRef: ref }
        : { caller: { ...key, tenantId }, newTenantRef: undefined },
    )
  }

  return {
    /** Checks the key, the org, the IP address, the rate buckets and the tenant that the key is bound to. */
    pass: ({ key, address, onCount }: Credentials) => {
      const now = clock.millis()
      return andThen(authenticate(key, address, now), (caller) => {
        if (caller.org.suspended) throw new Failure('ORG_SUSPENDED')
        checkAddress(caller, address)
        return andThen(spendRate(caller, now, onCount), () => {
          callers.recordUse(caller, now)
          checkOwnTenant(caller)
          return caller
        })
      })
    },
    /** Resolves the tenant that the request selects, then checks the scope. Without a rule, no scope is required. */
    narrow: (key: Caller, tenantRef: string | undefined, rule: AccessRule | undefined) => {
      const selected = tenantRef === undefined ? { caller: key, newTenantRef: undefined } : selectTenant(key, tenantRef)
      return andThen(selected, (narrowed) => {
        if (rule) checkAccess(key, rule)
        return narrowed
      })
    },
  }
}

export type Admission = ReturnType<typeof makeAdmission>
