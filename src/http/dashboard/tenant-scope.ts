import { Failure } from '../../ground/errors.ts'
import type { Scope } from '../../ground/scope.ts'
import type { TenantLifecycle } from '../../tenants/lifecycle.ts'
import type { MemberSession } from './dashboard-route.ts'
import { scopeOf } from './member-scope.ts'

/** The scope of what a member creates: the tenant that the body names, which must be active, or the whole org. */
export type TenantScope = (session: MemberSession, tenantId: string | null | undefined) => Promise<Scope>

export const makeTenantScope =
  (tenants: Pick<TenantLifecycle, 'get'>): TenantScope =>
  async (session, tenantId) => {
    const scope = scopeOf(session)
    if (tenantId === null || tenantId === undefined) return scope
    const { status } = await tenants.get(scope, tenantId)
    if (status !== 'active') throw new Failure('TENANT_NOT_USABLE')
    return { ...scope, tenantId }
  }
