/** /api/internal/oauth: the consent page of OAuth clients, and the grants of a person and of an org. */
import type { Consent } from '../../../people/oauth/consent.ts'
import type { EndGrants, ListGrants } from '../../../people/oauth/manage-grants.ts'
import {
  ByGrant,
  ByRequest,
  ConsentBody,
  Consented,
  ConsentRequest,
  EndedGrant,
  OAuthGrant,
} from '../../../people/oauth/shapes.ts'
import { userActor } from '../actor.ts'
import { listed, ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute, type UserSession } from '../route.ts'
import { shownAs } from '../shown-resource.ts'
import { listOf, listQuery } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

type OAuthDashboardNeeds = { consent: Consent; grants: ListGrants; endGrants: EndGrants }

const grantResource = { kind: 'oauthGrant', item: OAuthGrant, show: shownAs(OAuthGrant) } as const

/** Without the own factors of the person, a session reaches only grants on the org whose identity provider opened it. */
const reachOf = ({ ssoOrgId, ownFactors }: UserSession): string | null => (ownFactors ? null : ssoOrgId)

const consentRoutes = ({ consent }: OAuthDashboardNeeds): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/oauth/request', bySession('requireUserSession'), {
    query: ByRequest,
    responses: { 200: ConsentRequest },
    handle: async ({ session, query }) => ok(await consent.read(session.userId, query.id)),
  }),
  defineRoute('POST', '/api/internal/oauth/consent', bySession('requireUserSession'), {
    body: ConsentBody,
    responses: { 200: Consented },
    handle: async (call) =>
      ok({ redirect_to: await consent.decide(userActor(call), call.session.sessionId, call.body) }),
  }),
]

export const oauthRoutes = (needs: OAuthDashboardNeeds): DashboardRoute[] => {
  const { grants, endGrants } = needs
  return [
    ...consentRoutes(needs),
    defineRoute('GET', '/api/internal/oauth/grants', bySession('requireUserSession'), {
      query: listQuery(),
      responses: { 200: listOf(OAuthGrant) },
      handle: async ({ session, query }) => {
        const of = { userId: session.userId, onlyOrgId: reachOf(session) }
        const rows = await grants.ofUser(of, query)
        return listed(rows, query.limit, grantResource.show)
      },
    }),
    defineRoute('DELETE', '/api/internal/oauth/grants', bySession('requireUserSession'), {
      query: ByGrant,
      responses: { 200: EndedGrant },
      handle: async (call) => {
        await endGrants.own(userActor(call), call.query.id, reachOf(call.session))
        return ok({ deleted: true, id: call.query.id })
      },
    }),
    memberRoutes(grantResource, { path: '/api/internal/org/oauth-grants', read: 'requireOwnerSession' }).list({
      action: ({ orgId }, query) => grants.ofOrg(orgId, query),
    }),
    defineRoute('DELETE', '/api/internal/org/oauth-grants', bySession('requireOwnerSession'), {
      query: ByGrant,
      responses: { 200: EndedGrant },
      handle: async (call) => {
        await endGrants.ofOrg(call.session.orgId, userActor(call), call.query.id)
        return ok({ deleted: true, id: call.query.id })
      },
    }),
  ]
}
