import type { IpRange } from '../../platform/ground/ip-address.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import type { Bucket } from '../../platform/limits/limiter.ts'
import type { Plan } from '../orgs/plans.ts'
import type { ScopeName } from './scopes.ts'

export type TenantState = 'active' | 'suspended' | 'archived' | 'erased' | 'missing'

/** An authenticated API key or OAuth token: the scope it can reach and its restrictions. */
export type Caller = Scope & {
  /** The id of the key, or that of the grant behind a token. */
  keyId: string
  /** Set for a token: the person it acts for, and the client that has it. */
  grant?: { userId: string; clientId: string }
  scopes: ReadonlySet<ScopeName>
  /** State of the tenant the key is bound to; undefined for a platform-root key. */
  tenantState: TenantState | undefined
  allowedDomainIds: readonly string[] | null
  allowedRanges: readonly IpRange[] | null
  ratePerMinute: number | null
  /** The rate buckets that a request is counted in: the key's own bucket if it has one, then the org's. */
  buckets: readonly Bucket[]
  expiresAt: number | null
  org: { plan: Plan; suspended: boolean }
}
