/** /api/internal/oauth: the consent page of OAuth clients, and the grants of a person and of an org. */
import type { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { Consent } from '../../oauth/consent.ts'
import type { EndGrants } from '../../oauth/end-grants.ts'
import {
  ByGrant,
  ByRequest,
  ConsentBody,
  Consented,
  ConsentRequest,
  EndedGrant,
  OAuthGrant,
} from '../../oauth/shapes.ts'
import { type GrantRow, listGrantsOfOrg, listGrantsOfUser } from '../../oauth/store/grant-rows.ts'
import { page } from '../page.ts'
import { type DashboardRoute, defineDashboardRoute, type UserSession, userActor } from './dashboard-route.ts'
import { listOf, listQuery } from './list-query.ts'

export type OAuthDashboardNeeds = { db: Db; clock: Clock; consent: Consent; endGrants: EndGrants }

const show = (row: GrantRow): z.output<typeof OAuthGrant> => ({
  id: row.id,
  client_name: row.client_name,
  user_id: row.user_id,
  org_id: row.org_id,
  scopes: row.scopes,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
})

/** Without the own factors of the person, a session reaches only grants on the org whose identity provider opened it. */
const reachOf = ({ ssoOrgId, ownFactors }: UserSession): string | null => (ownFactors ? null : ssoOrgId)

const consentRoutes = ({ consent }: OAuthDashboardNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/oauth/request',
    gate: 'requireUserSession',
    query: ByRequest,
    responses: { 200: ConsentRequest },
    handle: async ({ session, query }) => ({ status: 200, body: await consent.read(session.userId, query.id) }),
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/oauth/consent',
    gate: 'requireUserSession',
    body: ConsentBody,
    responses: { 200: Consented },
    handle: async (call) => ({
      status: 200,
      body: { redirect_to: await consent.decide(userActor(call), call.session.sessionId, call.body) },
    }),
  }),
]

export const oauthRoutes = (needs: OAuthDashboardNeeds): DashboardRoute[] => {
  const { db, clock, endGrants } = needs
  return [
    ...consentRoutes(needs),
    defineDashboardRoute({
      method: 'GET',
      path: '/api/internal/oauth/grants',
      gate: 'requireUserSession',
      query: listQuery(),
      responses: { 200: listOf(OAuthGrant) },
      handle: async ({ session, query }) => {
        const of = { userId: session.userId, onlyOrgId: reachOf(session) }
        const rows = await db.rows(listGrantsOfUser, { ...of, at: clock.now(), ...keysetOf(query) })
        return { status: 200, body: page(rows, query.limit, show) }
      },
    }),
    defineDashboardRoute({
      method: 'DELETE',
      path: '/api/internal/oauth/grants',
      gate: 'requireUserSession',
      query: ByGrant,
      responses: { 200: EndedGrant },
      handle: async (call) => {
        await endGrants.own(userActor(call), call.query.id, reachOf(call.session))
        return { status: 200, body: { deleted: true, id: call.query.id } }
      },
    }),
    defineDashboardRoute({
      method: 'GET',
      path: '/api/internal/org/oauth-grants',
      gate: 'requireOwnerSession',
      query: listQuery(),
      responses: { 200: listOf(OAuthGrant) },
      handle: async ({ session: { orgId }, query }) => {
        const rows = await db.rows(listGrantsOfOrg, { orgId, at: clock.now(), ...keysetOf(query) })
        return { status: 200, body: page(rows, query.limit, show) }
      },
    }),
    defineDashboardRoute({
      method: 'DELETE',
      path: '/api/internal/org/oauth-grants',
      gate: 'requireOwnerSession',
      query: ByGrant,
      responses: { 200: EndedGrant },
      handle: async (call) => {
        await endGrants.ofOrg(call.session.orgId, userActor(call), call.query.id)
        return { status: 200, body: { deleted: true, id: call.query.id } }
      },
    }),
  ]
}
