/** /api/internal/audiences: audiences, and sends to them. */
import { givenId } from '../../../platform/ground/bounded-text.ts'
import type { ManageAudiences } from '../../../recipients/audiences/manage-audiences.ts'
import { CreateAudience } from '../../../recipients/audiences/shapes.ts'
import type { EstimateSend } from '../../../sending/blasts/estimate-send.ts'
import type { SendToAudience } from '../../../sending/blasts/send-to-audience.ts'
import { AudienceSent, SendAudienceBody, SendEstimate } from '../../../sending/blasts/shapes.ts'
import { maxVariableValues } from '../../../sending/templates/variables.ts'
import { scopeOf, userActor } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute, type MemberSession } from '../route.ts'
import { audiences } from '../shown-resources.ts'
import { oneOrListQuery, tenantFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'
import type { TenantScope } from './tenant-scope.ts'

const path = '/api/internal/audiences'

/** A member of the org sends with none of the restrictions that a key can have. */
export const senderOf = (session: MemberSession) => ({
  ...scopeOf(session),
  keyId: null,
  allowedDomainIds: null,
  tenantBound: false,
})

const routes = memberRoutes(audiences, { path, write: 'requireDeveloperSession' })

type Needs = {
  manage: ManageAudiences
  send: SendToAudience
  estimate: EstimateSend
  tenantScope: TenantScope
}

export const dashboardAudienceRoutes = ({ manage, send, estimate, tenantScope }: Needs): DashboardRoute[] => [
  routes.oneOrList({
    query: oneOrListQuery.extend({ tenant_id: tenantFilter }),
    get: manage.get,
    list: manage.list,
  }),
  routes.create({
    body: CreateAudience.extend({ tenant_id: givenId.nullish() }),
    action: async (scope, actor, { tenant_id: tenantId, ...body }) =>
      manage.create(await tenantScope(scope, tenantId), actor, body),
  }),
  routes.remove({ action: manage.remove }),
  defineRoute('POST', `${path}/{id}/send`, bySession('requireDeveloperSession'), {
    params: { id: 'audience' },
    body: SendAudienceBody,
    bounds: { elements: maxVariableValues, values: maxVariableValues + 100 },
    responses: { 200: AudienceSent },
    idempotent: true,
    handle: async (call) => {
      const { session, body, params, claim } = call
      const request = { audienceId: params.id, body, actor: userActor(call), claim }
      return { status: 200, body: await send(senderOf(session), request), recorded: true }
    },
  }),
  defineRoute('POST', `${path}/{id}/estimate`, bySession('requireDeveloperSession'), {
    params: { id: 'audience' },
    body: SendAudienceBody,
    bounds: { elements: maxVariableValues, values: maxVariableValues + 100 },
    responses: { 200: SendEstimate },
    handle: async ({ session, body, params }) => ok(await estimate(senderOf(session), { audienceId: params.id, body })),
  }),
]
