import type { TenantLifecycle } from '../../../customers/tenants/lifecycle.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Scope } from '../../../platform/ground/scope.ts'

/** The scope of what a member creates: the tenant that the body names, which must be active, or the whole org. */
export type TenantScope = (scope: Scope, tenantId: string | null | undefined) => Promise<Scope>

export const makeTenantScope =
  (tenants: Pick<TenantLifecycle, 'get'>): TenantScope =>
  async (scope, tenantId) => {
    if (tenantId === null || tenantId === undefined) return scope
    const { status } = await tenants.get(scope, tenantId)
    if (status !== 'active') throw new Failure('TENANT_NOT_USABLE')
    return { ...scope, tenantId }
  }
