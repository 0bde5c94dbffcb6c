/** What members create and send belongs to the tenant that the request names, which must be active, or to the whole org. */
import type { TenantLifecycle } from '../../../customers/tenants/lifecycle.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Environment, Scope } from '../../../platform/ground/scope.ts'
import type { DraftCaller } from '../../../sending/messages/draft.ts'
import { scopeOf } from '../actor.ts'
import type { MemberSession } from '../route.ts'

export type TenantScope = (scope: Scope, tenantId: string | null | undefined) => Promise<Scope>

export const makeTenantScope =
  (tenants: Pick<TenantLifecycle, 'get'>): TenantScope =>
  async (scope, tenantId) => {
    if (tenantId === null || tenantId === undefined) return scope
    const { status } = await tenants.get(scope, tenantId)
    if (status !== 'active') throw new Failure('TENANT_NOT_USABLE')
    return { ...scope, tenantId }
  }

type From = { environment?: Environment | undefined; tenantId?: string | null | undefined }

/** A member as the sender of messages, with none of the restrictions that a key can have. */
export type MemberSender = (session: MemberSession, from: From) => Promise<DraftCaller>

export const makeMemberSender =
  (tenantScope: TenantScope): MemberSender =>
  async (session, { environment, tenantId }) => {
    const scope = await tenantScope(scopeOf(session, environment), tenantId)
    return { ...scope, keyId: null, allowedDomainIds: null }
  }
