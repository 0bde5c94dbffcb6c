/** /api/internal/audiences: audiences, and sends to them. */

import type { ManageAudiences } from '../../audiences/manage-audiences.ts'
import { Audience, CreateAudience } from '../../audiences/shapes.ts'
import { listAudiences, listTenantAudiences } from '../../audiences/store/audience-rows.ts'
import type { EstimateSend } from '../../blasts/estimate-send.ts'
import type { SendToAudience } from '../../blasts/send-to-audience.ts'
import { AudienceSent, SendAudienceBody, SendEstimate } from '../../blasts/shapes.ts'
import type { Db } from '../../db/pool.ts'
import { givenId } from '../../ground/bounded-text.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { maxVariableValues } from '../../templates/variables.ts'
import { Deleted } from '../deleted.ts'
import { page } from '../page.ts'
import { shownAudience } from '../shown-audience.ts'
import { type DashboardRoute, defineDashboardRoute, type MemberSession, userActor } from './dashboard-route.ts'
import { tenantFilter } from './filters.ts'
import { scopeOf } from './member-scope.ts'
import { idQuery, oneOrListOf, oneOrListQuery } from './one-or-list.ts'
import type { TenantScope } from './tenant-scope.ts'

const path = '/api/internal/audiences'

/** A member of the org sends with none of the restrictions that a key can have. */
export const senderOf = (session: MemberSession) => ({
  ...scopeOf(session),
  keyId: null,
  allowedDomainIds: null,
  tenantBound: false,
})

type Needs = {
  db: Db
  manage: ManageAudiences
  send: SendToAudience
  estimate: EstimateSend
  tenantScope: TenantScope
}

export const dashboardAudienceRoutes = ({ db, manage, send, estimate, tenantScope }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: oneOrListQuery.extend({ tenant_id: tenantFilter }),
    responses: { 200: oneOrListOf(Audience) },
    handle: async ({ session, query: { id, tenant_id: tenantId, ...query } }) => {
      if (id !== undefined) return { status: 200, body: shownAudience(await manage.get(scopeOf(session), id)) }
      const given = { orgId: session.orgId, ...keysetOf(query) }
      const rows =
        tenantId === undefined
          ? await db.rows(listAudiences, given)
          : await db.rows(listTenantAudiences, { ...given, tenantId })
      return { status: 200, body: page(rows, query.limit, shownAudience) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireDeveloperSession',
    body: CreateAudience.extend({ tenant_id: givenId.nullish() }),
    responses: { 201: Audience },
    handle: async (call) => {
      const { tenant_id: tenantId, ...body } = call.body
      const scope = await tenantScope(call.session, tenantId)
      return { status: 201, body: shownAudience(await manage.create(scope, userActor(call), body)) }
    },
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => {
      const { id } = call.query
      await manage.remove(scopeOf(call.session), userActor(call), id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: `${path}/{id}/send`,
    params: { id: 'audience' },
    gate: 'requireDeveloperSession',
    body: SendAudienceBody,
    bounds: { elements: maxVariableValues, values: maxVariableValues + 100 },
    responses: { 200: AudienceSent },
    idempotent: true,
    handle: async (call) => {
      const { session, body, params, claim } = call
      const request = { audienceId: params.id as string, body, actor: userActor(call), claim }
      return { status: 200, body: await send(senderOf(session), request), recorded: true }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: `${path}/{id}/estimate`,
    params: { id: 'audience' },
    gate: 'requireDeveloperSession',
    body: SendAudienceBody,
    bounds: { elements: maxVariableValues, values: maxVariableValues + 100 },
    responses: { 200: SendEstimate },
    handle: async ({ session, body, params }) => ({
      status: 200,
      body: await estimate(senderOf(session), { audienceId: params.id as string, body }),
    }),
  }),
]
