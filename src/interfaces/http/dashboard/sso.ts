/** Settings of single sign-on: /api/internal/sso. */
import { z } from 'zod'
import { shownCertificate } from '../../../people/sso/certificates.ts'
import { type EmailDomains, txtNameOf, txtValueOf } from '../../../people/sso/email-domains.ts'
import type { ManageSso, SsoSettings } from '../../../people/sso/manage-sso.ts'
import { serviceProviderOf } from '../../../people/sso/saml/service-provider.ts'
import * as shapes from '../../../people/sso/shapes.ts'
import type { EmailDomainRow } from '../../../people/sso/store/email-domain-rows.ts'
import { isoOrNull } from '../../../platform/ground/instant.ts'
import { userActor } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'

type SsoRouteNeeds = { manage: ManageSso; domains: EmailDomains; baseUrl: () => string }

const shownDomain = ({ domain, token, verified_at }: EmailDomainRow) => ({
  domain,
  verified: verified_at !== null,
  txt_name: txtNameOf(domain),
  txt_value: txtValueOf(token),
})

/** What the owner enters at the identity provider. */
const shownService = (baseUrl: string, slug: string) => {
  const { entityId, acsUrl } = serviceProviderOf(baseUrl, slug)
  return {
    entity_id: entityId,
    acs_url: acsUrl,
    metadata_url: entityId,
    redirect_uri: `${baseUrl}/api/auth/sso/callback`,
    login_url: `${baseUrl}/api/auth/sso/login?org=${slug}`,
  }
}

const shownSettings = (settings: SsoSettings, baseUrl: string) => {
  const { slug, enforced, connection, domains, outsideDomains } = settings
  return {
    protocol: connection?.protocol ?? null,
    idp_entity_id: connection?.idp_entity_id ?? null,
    idp_sso_url: connection?.idp_sso_url ?? null,
    idp_certificates: (connection?.idp_certificates ?? []).map(shownCertificate),
    oidc_issuer: connection?.oidc_issuer ?? null,
    oidc_client_id: connection?.oidc_client_id ?? null,
    sp: shownService(baseUrl, slug),
    email_domains: domains.map(shownDomain),
    default_role: connection?.default_role ?? 'viewer',
    jit_provisioning: connection?.jit_provisioning ?? true,
    allow_idp_initiated: connection?.allow_idp_initiated ?? false,
    enforced,
    members_outside_domains: outsideDomains,
    tested: connection !== undefined && connection.tested_at !== null,
    last_login_at: isoOrNull(connection?.last_login_at),
    updated_at: connection?.updated_at.toISOString() ?? null,
  }
}

const settingsRoutes = ({ manage, baseUrl }: SsoRouteNeeds): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/sso', bySession('requireSession'), {
    responses: { 200: shapes.SsoResponse },
    handle: async ({ session }) => ok(shownSettings(await manage.read(session.orgId), baseUrl())),
  }),
  defineRoute('PUT', '/api/internal/sso', bySession('requireOwnerSession'), {
    body: shapes.SsoBody,
    responses: { 200: shapes.SsoResponse },
    handle: async (call) => {
      const settings = await manage.put(call.session.orgId, userActor(call), call.body)
      return ok(shownSettings(settings, baseUrl()))
    },
  }),
  defineRoute('DELETE', '/api/internal/sso', bySession('requireOwnerSession'), {
    responses: { 204: null },
    handle: async (call) => {
      await manage.remove(call.session.orgId, userActor(call))
      return { status: 204 }
    },
  }),
]

const domainRoutes = ({ domains }: SsoRouteNeeds): DashboardRoute[] => [
  defineRoute('POST', '/api/internal/sso/domains', bySession('requireOwnerSession'), {
    body: shapes.DomainBody,
    responses: { 200: shapes.EmailDomain, 201: shapes.EmailDomain },
    handle: async (call) => {
      const { row, isNew } = await domains.add(call.session.orgId, userActor(call), call.body.domain)
      return { status: isNew ? 201 : 200, body: shownDomain(row) }
    },
  }),
  defineRoute('POST', '/api/internal/sso/domains/verify', bySession('requireOwnerSession'), {
    body: shapes.DomainBody,
    responses: { 200: shapes.EmailDomain },
    handle: async (call) =>
      ok(shownDomain(await domains.verify(call.session.orgId, userActor(call), call.body.domain))),
  }),
  defineRoute('DELETE', '/api/internal/sso/domains', bySession('requireOwnerSession'), {
    query: z.object({ domain: z.string().min(1).max(255) }),
    responses: { 204: null },
    handle: async (call) => {
      await domains.remove(call.session.orgId, userActor(call), call.query.domain)
      return { status: 204 }
    },
  }),
]

export const ssoRoutes = (needs: SsoRouteNeeds): DashboardRoute[] => [...settingsRoutes(needs), ...domainRoutes(needs)]
