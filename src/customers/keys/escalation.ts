/** A key cannot create or update a key, itself included, so that it has more permissions than the caller's key. */
import { Failure } from '../../platform/ground/errors.ts'
import { covers, type IpRange, parseRange } from '../../platform/ground/ip-address.ts'
import { assertOwnEnvironment, type Environment } from '../../platform/ground/scope.ts'
import type { Caller } from './caller.ts'
import type { ScopeName } from './scopes.ts'

/** The key as it will be after the request. */
export type RequestedKey = {
  environment: Environment
  tenantId: string | null
  projectId: string | null
  scopes: readonly ScopeName[]
  allowedDomainIds: readonly string[] | null
  allowedCidrs: readonly string[] | null
  expiresAt: Date | null
  ratePerMinute: number | null
}

const withinDomains = (own: readonly string[], requested: readonly string[] | null): boolean =>
  requested?.every((id) => own.includes(id)) ?? false

const withinRanges = (own: readonly IpRange[], requested: readonly string[] | null): boolean =>
  requested?.every((text) => {
    const range = parseRange(text)
    return range !== undefined && own.some((outer) => covers(outer, range))
  }) ?? false

/** Checks environment, tenant and project first, then the restrictions. The order decides which code is returned. */
export const assertNoEscalation = (caller: Caller, outcome: RequestedKey): void => {
  assertOwnEnvironment(caller, outcome.environment)
  if (caller.tenantId !== null && outcome.tenantId !== caller.tenantId) throw new Failure('TENANT_FORBIDDEN')
  if (caller.projectId !== null && outcome.projectId !== caller.projectId) throw new Failure('SCOPE_ESCALATION')
  if (!outcome.scopes.every((scope) => caller.scopes.has(scope))) throw new Failure('SCOPE_ESCALATION')
  if (caller.allowedDomainIds && !withinDomains(caller.allowedDomainIds, outcome.allowedDomainIds)) {
    throw new Failure('DOMAIN_SCOPE_ESCALATION')
  }
  if (caller.allowedRanges && !withinRanges(caller.allowedRanges, outcome.allowedCidrs)) {
    throw new Failure('CIDR_SCOPE_ESCALATION')
  }
  if (caller.expiresAt !== null && (outcome.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) > caller.expiresAt) {
    throw new Failure('EXPIRY_ESCALATION')
  }
  if (caller.ratePerMinute !== null && (outcome.ratePerMinute ?? Number.POSITIVE_INFINITY) > caller.ratePerMinute) {
    throw new Failure('RATE_LIMIT_ESCALATION')
  }
}
