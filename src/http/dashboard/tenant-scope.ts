import type { Scope } from '../../ground/scope.ts'
import type { TenantLifecycle } from '../../tenants/lifecycle.ts'
import type { MemberSession } from './dashboard-route.ts'
import { scopeOf } from './member-scope.ts'

/** The scope of what a member creates: the tenant that the body names, or the whole org. */
export type TenantScope = (session: MemberSession, tenantId: string | null | undefined) => Promise<Scope>

export const makeTenantScope =
  (tenants: Pick<TenantLifecycle, 'get'>): TenantScope =>
  async (session, tenantId) => {
    const scope = scopeOf(session)
    if (tenantId === null || tenantId === undefined) return scope
    await tenants.get(scope, tenantId)
    return { ...scope, tenantId }
  }
