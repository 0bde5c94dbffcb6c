import type { IpRange } from '../ground/ip-address.ts'
import type { Scope } from '../ground/scope.ts'
import type { Bucket } from '../limits/limiter.ts'
import type { Plan } from '../orgs/plans.ts'
import type { ScopeName } from './scopes.ts'

export type TenantState = 'active' | 'suspended' | 'archived' | 'erased' | 'missing'

/** Who is calling: the key's reach (as a scope) and its restrictions. */
export type Caller = Scope & {
  keyId: string
  scopes: ReadonlySet<ScopeName>
  /** State of the tenant the key is bound to; undefined for a platform-root key. */
  tenantState: TenantState | undefined
  allowedDomainIds: readonly string[] | null
  allowedRanges: readonly IpRange[] | null
  ratePerMinute: number | null
  /** What a request of this key is counted in: its own bucket when it has one, then the org's. */
  buckets: readonly Bucket[]
  expiresAt: number | null
  org: { plan: Plan; suspended: boolean }
}
