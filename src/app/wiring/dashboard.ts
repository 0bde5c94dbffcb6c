/** The routes of the dashboard, under /api/internal and /api/auth. Add a new route here. */
import { type Cookies, makeCookies } from '../../interfaces/http/cookies.ts'
import { accountDeletionRoutes, accountRoutes, dataExportRoutes } from '../../interfaces/http/dashboard/account.ts'
import { dashboardKeyRoutes } from '../../interfaces/http/dashboard/api-keys.ts'
import { auditRoutes } from '../../interfaces/http/dashboard/audit.ts'
import { authRoutes } from '../../interfaces/http/dashboard/auth.ts'
import { billingRoutes } from '../../interfaces/http/dashboard/billing.ts'
import { dashboardAnalyticsRoutes } from '../../interfaces/http/dashboard/dashboard-analytics.ts'
import { dashboardAudienceRoutes } from '../../interfaces/http/dashboard/dashboard-audiences.ts'
import { dashboardBrandRoutes } from '../../interfaces/http/dashboard/dashboard-brands.ts'
import { dashboardCampaignRoutes } from '../../interfaces/http/dashboard/dashboard-campaigns.ts'
import { dashboardContactRoutes } from '../../interfaces/http/dashboard/dashboard-contacts.ts'
import { dashboardDltRoutes } from '../../interfaces/http/dashboard/dashboard-dlt.ts'
import { domainDashboardRoutes } from '../../interfaces/http/dashboard/dashboard-domains.ts'
import { dashboardInboundRoutes } from '../../interfaces/http/dashboard/dashboard-inbound.ts'
import { dashboardIpPoolRoutes } from '../../interfaces/http/dashboard/dashboard-ip-pools.ts'
import { dashboardJobRoutes } from '../../interfaces/http/dashboard/dashboard-jobs.ts'
import { dashboardMemberRoutes } from '../../interfaces/http/dashboard/dashboard-members.ts'
import { dashboardNumberRoutes } from '../../interfaces/http/dashboard/dashboard-phone-numbers.ts'
import { dashboardPoolRoutes } from '../../interfaces/http/dashboard/dashboard-pools.ts'
import { dashboardProjectRoutes } from '../../interfaces/http/dashboard/dashboard-projects.ts'
import { dashboardSuppressionRoutes } from '../../interfaces/http/dashboard/dashboard-suppressions.ts'
import { dashboardTemplateRoutes } from '../../interfaces/http/dashboard/dashboard-templates.ts'
import { dashboardTenantRoutes } from '../../interfaces/http/dashboard/dashboard-tenants.ts'
import { webhookDashboardRoutes } from '../../interfaces/http/dashboard/dashboard-webhooks.ts'
import { directoryRoutes } from '../../interfaces/http/dashboard/directory.ts'
import { exportRoutes } from '../../interfaces/http/dashboard/exports.ts'
import { messageRoutes } from '../../interfaces/http/dashboard/messages.ts'
import { oauthRoutes } from '../../interfaces/http/dashboard/oauth.ts'
import { sessionPolicyRoutes, smsGeoRoutes } from '../../interfaces/http/dashboard/org-settings.ts'
import { orgRoutes } from '../../interfaces/http/dashboard/orgs.ts'
import { firstStepRoutes, overviewRoutes } from '../../interfaces/http/dashboard/overview.ts'
import { sendByMemberRoutes } from '../../interfaces/http/dashboard/send-by-member.ts'
import { providerRoutes } from '../../interfaces/http/dashboard/sign-in-providers.ts'
import { ssoRoutes } from '../../interfaces/http/dashboard/sso.ts'
import { ssoSignInRoutes } from '../../interfaces/http/dashboard/sso-sign-in.ts'
import { statusRoutes } from '../../interfaces/http/dashboard/status.ts'
import { teamRoutes } from '../../interfaces/http/dashboard/team.ts'
import { makeMemberSender, makeTenantScope } from '../../interfaces/http/dashboard/tenant-scope.ts'
import type { DashboardRoute } from '../../interfaces/http/route.ts'
import { makeFindAuditEntry, makeListAudit } from '../../journal/audit/list-entries.ts'
import { makeVerifyChainPage } from '../../journal/audit/verify-chain-page.ts'
import { makeVerifyEntries } from '../../journal/audit/verify-entries.ts'
import type { Foundation } from './foundation.ts'
import type { SmsRegistration } from './registration.ts'
import type { Resources } from './resources.ts'
import type { Sending } from './sending.ts'
import type { ServiceParts } from './service-parts.ts'

export const makeDashboardCookies = ({ config, baseUrl }: Foundation): Cookies =>
  makeCookies(() => config.production || baseUrl.read().startsWith('https:'))

const makeAuditRoutes = ({ config, reads, audit, auditNeeds }: Foundation): DashboardRoute[] => {
  const { db, log, secrets } = auditNeeds
  return auditRoutes({
    list: makeListAudit({ db: reads.db }),
    find: makeFindAuditEntry({ db: reads.db }),
    verify: makeVerifyEntries({ db, log, audit, secrets, cutover: config.auditCutover }),
    verifyChain: makeVerifyChainPage(auditNeeds),
  })
}

const makeRecipientRoutes = ({ audiences, blasts, suppressions, tenants }: Resources): DashboardRoute[] => {
  const tenantScope = makeTenantScope(tenants.lifecycle)
  return [
    ...dashboardAudienceRoutes({ manage: audiences.manage, ...blasts, tenantScope }),
    ...dashboardMemberRoutes(audiences),
    ...dashboardContactRoutes({ manage: audiences.contacts, find: audiences.findContacts, tenantScope }),
    ...dashboardSuppressionRoutes({ ...suppressions, tenantScope }),
  ]
}

const makeMessageRoutes = (sending: Sending, { templates, tenants, blasts }: Resources): DashboardRoute[] => {
  const { messages, templates: render, inbound } = sending
  const tenantScope = makeTenantScope(tenants.lifecycle)
  const senderOf = makeMemberSender(tenantScope)
  return [
    ...messageRoutes({ ...messages, possibleSubjects: blasts.read.possibleSubjects }),
    ...dashboardTemplateRoutes({ manage: templates, render, tenantScope }),
    ...dashboardInboundRoutes(inbound),
    ...dashboardJobRoutes(blasts),
    ...sendByMemberRoutes({ ...messages, templates, senderOf }),
  ]
}

const makeSenderRoutes = (senders: SmsRegistration, { dlt, pools }: Resources): DashboardRoute[] => {
  const { brands, campaigns, phoneNumbers, pollStatus } = senders
  return [
    ...dashboardBrandRoutes({ ...brands, check: pollStatus.checkBrand }),
    ...dashboardCampaignRoutes({ ...campaigns, check: pollStatus.checkCampaign }),
    ...dashboardNumberRoutes(phoneNumbers),
    ...dashboardDltRoutes({ manage: dlt }),
    ...dashboardPoolRoutes({ manage: pools }),
  ]
}

export const makeDashboardRoutes = (parts: ServiceParts): DashboardRoute[] => {
  const { foundation, platform, sending, senders, resources, people, team } = parts
  const { billing, exports, health, oauth, sso, scim } = parts
  const { config, clock, log, vault } = foundation
  const { serviceDomain } = config
  const cookies = makeDashboardCookies(foundation)
  return [
    ...authRoutes({ ...people, cookies, sessions: platform.sessions }),
    ...providerRoutes({ ...people, clock, log, vault, cookies, baseUrl: foundation.baseUrl.read }),
    ...ssoSignInRoutes({ ...sso, clock, log, vault, cookies, baseUrl: foundation.baseUrl.read }),
    ...ssoRoutes({ ...sso, baseUrl: foundation.baseUrl.read }),
    ...accountRoutes(people),
    ...sessionPolicyRoutes(people),
    ...accountDeletionRoutes({ deleteAccount: team.deleteAccount, cookies }),
    ...exportRoutes({ clock, ...exports }),
    ...dataExportRoutes(exports),
    ...statusRoutes({ health }),
    ...dashboardKeyRoutes({ manage: resources.keys }),
    ...makeAuditRoutes(foundation),
    ...makeMessageRoutes(sending, resources),
    ...orgRoutes({ manage: team.orgs, transfer: team.transfer, deleteOrg: team.deleteOrg, cookies, serviceDomain }),
    ...teamRoutes({ clock, cookies, ...team }),
    ...directoryRoutes({ ...scim, baseUrl: foundation.baseUrl.read }),
    ...domainDashboardRoutes({ manage: sending.manageDomains, hosts: sending.mailHosts }),
    ...webhookDashboardRoutes(resources.webhooks, sending.messages.read),
    ...dashboardAnalyticsRoutes({ read: resources.analytics }),
    ...overviewRoutes({ clock, ...resources }),
    ...firstStepRoutes({ setup: resources.setup, serviceDomain }),
    ...makeRecipientRoutes(resources),
    ...makeSenderRoutes(senders, resources),
    ...billingRoutes(billing),
    ...smsGeoRoutes(billing),
    ...oauthRoutes(oauth),
    ...dashboardTenantRoutes(resources.tenants, { clock, usage: resources.usage }),
    ...dashboardProjectRoutes({ manage: resources.projects }),
    ...dashboardIpPoolRoutes({ manage: resources.ipPools }),
  ]
}
