/** The gates every /api/v1 request passes before its body is read, in their fixed order. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { contains, parseAddress } from '../ground/address.ts'
import type { Clock } from '../ground/clock.ts'
import { type Code, Failure } from '../ground/errors.ts'
import type { Caller, TenantState } from '../keys/caller.ts'
import type { Callers } from '../keys/callers.ts'
import type { BucketState, Limiter } from '../limits/contract.ts'
import { readReference, type TenantsByReference } from '../tenants/by-reference.ts'
import { callerAddress } from './address.ts'
import type { Route } from './route.ts'

export type Admitted = {
  caller: Caller
  address: string | null
  /** A tenant reference no tenant holds yet: made once the rest of the request has proven good. */
  newTenantRef: string | undefined
}

/** Absent for a path no route serves: such a request passes the gates up to the tenant's and is told so. */
export type Entry = Pick<Route, 'scope' | 'bars'> | undefined

const minute = 60_000
const failuresPerMinute = 100

const tenantRefusals: Partial<Record<TenantState, Code>> = {
  suspended: 'TENANT_SUSPENDED',
  archived: 'TENANT_ARCHIVED',
  erased: 'TENANT_NOT_FOUND',
  missing: 'TENANT_NOT_FOUND',
}

const bearer = /^Bearer +(\S+) *$/i

export interface Door {
  admit(request: FastifyRequest, reply: FastifyReply, entry: Entry): Promise<Admitted>
}

type Needs = {
  callers: Callers
  tenants: TenantsByReference
  limiter: Limiter | undefined
  clock: Clock
  trustedProxyHops: number
}

export const makeDoor = ({ callers, tenants, limiter, clock, trustedProxyHops }: Needs): Door => {
  const authenticate = async (
    request: FastifyRequest,
    address: string | null,
    now: number,
  ): Promise<Caller> => {
    const key = request.headers.authorization?.match(bearer)?.[1]
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

  const checkAddress = (caller: Caller, address: string | null): void => {
    if (!caller.allowedRanges) return
    const parsed = address === null ? undefined : parseAddress(address)
    if (!parsed || !caller.allowedRanges.some((range) => contains(range, parsed))) {
      throw new Failure('IP_NOT_ALLOWED')
    }
  }

  const spendRate = async (caller: Caller, reply: FastifyReply, now: number): Promise<void> => {
    if (!limiter) return
    const { buckets } = caller
    const answer = limiter.take(buckets, now)
    const taken = answer instanceof Promise ? await answer : answer
    if (!taken) return
    // The key's own bucket speaks in the headers, unless it was the org's that refused.
    const speaking = taken.allowed ? 0 : taken.refusedBy
    const state = taken.states[speaking] as BucketState
    reply.headers({
      'x-ratelimit-limit': state.limit,
      'x-ratelimit-remaining': state.remaining,
      'x-ratelimit-reset': state.resetAt,
      'x-ratelimit-plan': caller.org.plan,
      'x-ratelimit-scope': speaking === buckets.length - 1 ? 'org' : 'key',
    })
    if (!taken.allowed) throw new Failure('RATE_LIMITED', { retryAfter: (state.resetAt - now) / 1000 })
  }

  const checkOwnTenant = ({ tenantState }: Caller): void => {
    const refusal = tenantState && tenantRefusals[tenantState]
    if (refusal) throw new Failure(refusal)
  }

  const checkEntry = (caller: Caller, bound: Caller, entry: NonNullable<Entry>): void => {
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

  return {
    admit: async (request, reply, entry) => {
      const now = clock.millis()
      const address = callerAddress(request.raw, trustedProxyHops)
      const key = await authenticate(request, address, now)
      if (key.org.suspended) throw new Failure('ORG_SUSPENDED')
      checkAddress(key, address)
      await spendRate(key, reply, now)
      callers.used(key, now)
      checkOwnTenant(key)

      let caller = key
      let newTenantRef: string | undefined
      const header = request.headers['x-service-tenant-ref']
      if (header !== undefined) {
        if (key.tenantId !== null) throw new Failure('TENANT_KEY_FORBIDDEN')
        const ref = readReference(Array.isArray(header) ? header.join(', ') : header)
        const tenantId = await tenants.find(key.orgId, ref)
        if (tenantId === undefined) newTenantRef = ref
        else caller = { ...key, tenantId }
      }
      if (entry) checkEntry(caller, key, entry)
      return { caller, address, newTenantRef }
    },
  }
}
