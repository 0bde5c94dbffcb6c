/** The routes of the dashboard, under /api/internal and /api/auth. Add a new route here. */
import { makeListAudit } from '../audit/list-entries.ts'
import { makeVerifyChainPage } from '../audit/verify-chain-page.ts'
import { makeVerifyEntries } from '../audit/verify-entries.ts'
import type { Db } from '../db/pool.ts'
import type { Health } from '../health/watch-parts.ts'
import { accountRoutes } from '../http/dashboard/account.ts'
import { accountDeletionRoutes } from '../http/dashboard/account-deletion.ts'
import { dashboardKeyRoutes } from '../http/dashboard/api-keys.ts'
import { auditRoutes } from '../http/dashboard/audit.ts'
import { authRoutes } from '../http/dashboard/auth.ts'
import { billingRoutes } from '../http/dashboard/billing.ts'
import { type Cookies, makeCookies } from '../http/dashboard/cookies.ts'
import { dashboardAnalyticsRoutes } from '../http/dashboard/dashboard-analytics.ts'
import { dashboardAudienceRoutes } from '../http/dashboard/dashboard-audiences.ts'
import { dashboardBrandRoutes } from '../http/dashboard/dashboard-brands.ts'
import { dashboardCampaignRoutes } from '../http/dashboard/dashboard-campaigns.ts'
import { dashboardContactRoutes } from '../http/dashboard/dashboard-contacts.ts'
import { dashboardDltRoutes } from '../http/dashboard/dashboard-dlt.ts'
import { domainDashboardRoutes } from '../http/dashboard/dashboard-domains.ts'
import { dashboardInboundRoutes } from '../http/dashboard/dashboard-inbound.ts'
import { dashboardIpPoolRoutes } from '../http/dashboard/dashboard-ip-pools.ts'
import { dashboardJobRoutes } from '../http/dashboard/dashboard-jobs.ts'
import { dashboardMemberRoutes } from '../http/dashboard/dashboard-members.ts'
import { dashboardNumberRoutes } from '../http/dashboard/dashboard-phone-numbers.ts'
import { dashboardPoolRoutes } from '../http/dashboard/dashboard-pools.ts'
import { dashboardProjectRoutes } from '../http/dashboard/dashboard-projects.ts'
import type { DashboardRoute } from '../http/dashboard/dashboard-route.ts'
import { dashboardSuppressionRoutes } from '../http/dashboard/dashboard-suppressions.ts'
import { dashboardTemplateRoutes } from '../http/dashboard/dashboard-templates.ts'
import { dashboardTenantRoutes } from '../http/dashboard/dashboard-tenants.ts'
import { webhookDashboardRoutes } from '../http/dashboard/dashboard-webhooks.ts'
import { dataExportRoutes } from '../http/dashboard/data-export.ts'
import { directoryRoutes } from '../http/dashboard/directory.ts'
import { exportRoutes } from '../http/dashboard/exports.ts'
import { makeMemberSender } from '../http/dashboard/member-sender.ts'
import { messageRoutes } from '../http/dashboard/messages.ts'
import { oauthRoutes } from '../http/dashboard/oauth.ts'
import { orgRoutes } from '../http/dashboard/orgs.ts'
import { overviewRoutes } from '../http/dashboard/overview.ts'
import { sendByMemberRoutes } from '../http/dashboard/send-by-member.ts'
import { sessionPolicyRoutes } from '../http/dashboard/session-policy.ts'
import { providerRoutes } from '../http/dashboard/sign-in-providers.ts'
import { smsGeoRoutes } from '../http/dashboard/sms-geo.ts'
import { ssoRoutes } from '../http/dashboard/sso.ts'
import { ssoSignInRoutes } from '../http/dashboard/sso-sign-in.ts'
import { statusRoutes } from '../http/dashboard/status.ts'
import { teamRoutes } from '../http/dashboard/team.ts'
import { makeTenantScope } from '../http/dashboard/tenant-scope.ts'
import type { BillingModule } from './billing.ts'
import type { Exports } from './exports.ts'
import type { Foundation } from './foundation.ts'
import type { OAuth } from './oauth.ts'
import type { People } from './people.ts'
import type { Platform } from './platform.ts'
import type { SmsRegistration } from './registration.ts'
import type { Resources } from './resources.ts'
import type { Scim } from './scim.ts'
import type { Sending } from './sending.ts'
import type { Sso } from './sso.ts'
import type { Team } from './team.ts'

export const makeDashboardCookies = ({ config, baseUrl }: Foundation): Cookies =>
  makeCookies(() => config.production || baseUrl.read().startsWith('https:'))

const makeAuditRoutes = ({ config, db, reads, clock, log, audit }: Foundation): DashboardRoute[] => {
  const { auditSecrets: secrets, auditCutover: cutover } = config
  return auditRoutes({
    list: makeListAudit({ db: reads.db }),
    verify: makeVerifyEntries({ db, log, audit, secrets, cutover }),
    verifyChain: makeVerifyChainPage({ db, clock, log, secrets, cutover: cutover.at }),
  })
}

const makeRecipientRoutes = (db: Db, { audiences, blasts, suppressions, tenants }: Resources): DashboardRoute[] => {
  const tenantScope = makeTenantScope(tenants.lifecycle)
  return [
    ...dashboardAudienceRoutes({ db, manage: audiences.manage, ...blasts, tenantScope }),
    ...dashboardMemberRoutes(audiences),
    ...dashboardContactRoutes({ manage: audiences.contacts, find: audiences.findContacts, tenantScope }),
    ...dashboardSuppressionRoutes({ ...suppressions, tenantScope }),
  ]
}

const makeMessageRoutes = (db: Db, sending: Sending, { templates, tenants, blasts }: Resources): DashboardRoute[] => {
  const { messages, templates: render, inbound } = sending
  const tenantScope = makeTenantScope(tenants.lifecycle)
  const senderOf = makeMemberSender(tenants.lifecycle)
  return [
    ...messageRoutes(messages),
    ...dashboardTemplateRoutes({ db, manage: templates, render, tenantScope }),
    ...dashboardInboundRoutes(inbound),
    ...dashboardJobRoutes(blasts),
    ...sendByMemberRoutes({ ...messages, templates, senderOf }),
  ]
}

const makeSenderRoutes = (db: Db, senders: SmsRegistration, { dlt, pools }: Resources): DashboardRoute[] => {
  const { brands, campaigns, phoneNumbers, pollStatus } = senders
  return [
    ...dashboardBrandRoutes({ db, ...brands, check: pollStatus.checkBrand }),
    ...dashboardCampaignRoutes({ db, ...campaigns, check: pollStatus.checkCampaign }),
    ...dashboardNumberRoutes({ db, ...phoneNumbers }),
    ...dashboardDltRoutes({ db, manage: dlt }),
    ...dashboardPoolRoutes({ db, manage: pools }),
  ]
}

type Needs = {
  foundation: Foundation
  platform: Platform
  sending: Sending
  senders: SmsRegistration
  resources: Resources
  people: People
  team: Team
  billing: BillingModule
  exports: Exports
  health: Health
  oauth: OAuth
  sso: Sso
  scim: Scim
}

export const makeDashboardRoutes = (needs: Needs): DashboardRoute[] => {
  const { foundation, platform, sending, senders, resources, people, team } = needs
  const { billing, exports, health, oauth, sso, scim } = needs
  const { config, db, reads, clock, log, vault } = foundation
  const readDb = reads.db
  const { serviceDomain } = config
  const cookies = makeDashboardCookies(foundation)
  return [
    ...authRoutes({ ...people, cookies, sessions: platform.sessions }),
    ...providerRoutes({ ...people, clock, log, vault, cookies, baseUrl: foundation.baseUrl.read }),
    ...ssoSignInRoutes({ ...sso, db, clock, log, vault, cookies, baseUrl: foundation.baseUrl.read }),
    ...ssoRoutes({ ...sso, baseUrl: foundation.baseUrl.read }),
    ...accountRoutes({ ...people, db }),
    ...sessionPolicyRoutes(people),
    ...accountDeletionRoutes({ deleteAccount: team.deleteAccount, cookies }),
    ...exportRoutes({ clock, ...exports }),
    ...dataExportRoutes(exports),
    ...statusRoutes({ health }),
    ...dashboardKeyRoutes({ db: readDb, clock, manage: resources.keys }),
    ...makeAuditRoutes(foundation),
    ...makeMessageRoutes(readDb, sending, resources),
    ...orgRoutes({ db, manage: team.orgs, transfer: team.transfer, deleteOrg: team.deleteOrg, cookies, serviceDomain }),
    ...teamRoutes({ db: readDb, clock, cookies, ...team }),
    ...directoryRoutes({ ...scim, db, baseUrl: foundation.baseUrl.read }),
    ...domainDashboardRoutes({ manage: sending.manageDomains, hosts: sending.mailHosts }),
    ...webhookDashboardRoutes({ db: readDb, messages: sending.messages.read, ...resources.webhooks }),
    ...dashboardAnalyticsRoutes({ read: resources.analytics }),
    ...overviewRoutes({ db: readDb, clock, ...resources }),
    ...makeRecipientRoutes(readDb, resources),
    ...makeSenderRoutes(readDb, senders, resources),
    ...billingRoutes(billing),
    ...smsGeoRoutes(billing),
    ...oauthRoutes({ db, clock, ...oauth }),
    ...dashboardTenantRoutes({ db: readDb, clock, ...resources.tenants, usage: resources.usage }),
    ...dashboardProjectRoutes({ db: readDb, manage: resources.projects }),
    ...dashboardIpPoolRoutes({ db: readDb, manage: resources.ipPools }),
  ]
}
