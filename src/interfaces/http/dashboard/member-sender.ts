import type { TenantLifecycle } from '../../../customers/tenants/lifecycle.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Environment } from '../../../platform/ground/scope.ts'
import type { DraftCaller } from '../../../sending/messages/draft.ts'
import { scopeOf } from '../actor.ts'
import type { MemberSession } from '../route-access.ts'

type From = { environment?: Environment | undefined; tenantId?: string | null | undefined }

/** A member as the sender of messages, with none of the restrictions that a key can have. The tenant must be active. */
export type MemberSender = (session: MemberSession, from: From) => Promise<DraftCaller>

export const makeMemberSender =
  (tenants: Pick<TenantLifecycle, 'get'>): MemberSender =>
  async (session, { environment, tenantId = null }) => {
    const scope = scopeOf(session, environment)
    if (tenantId !== null) {
      const { status } = await tenants.get(scope, tenantId)
      if (status !== 'active') throw new Failure('TENANT_NOT_USABLE')
    }
    return { ...scope, tenantId, keyId: null, allowedDomainIds: null }
  }
