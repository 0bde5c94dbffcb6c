/** The routes of the dashboard, under /api/internal and /api/auth. Add a new route here. */
import { makeListAudit } from '../audit/list-entries.ts'
import { makeVerifyChainPage } from '../audit/verify-chain-page.ts'
import { makeVerifyEntries } from '../audit/verify-entries.ts'
import type { Db } from '../db/pool.ts'
import { accountRoutes } from '../http/dashboard/account.ts'
import { accountDeletionRoutes } from '../http/dashboard/account-deletion.ts'
import { dashboardKeyRoutes } from '../http/dashboard/api-keys.ts'
import { auditRoutes } from '../http/dashboard/audit.ts'
import { authRoutes } from '../http/dashboard/auth.ts'
import { billingRoutes } from '../http/dashboard/billing.ts'
import { type Cookies, makeCookies } from '../http/dashboard/cookies.ts'
import { dashboardAudienceRoutes } from '../http/dashboard/dashboard-audiences.ts'
import { dashboardBrandRoutes } from '../http/dashboard/dashboard-brands.ts'
import { dashboardCampaignRoutes } from '../http/dashboard/dashboard-campaigns.ts'
import { dashboardContactRoutes } from '../http/dashboard/dashboard-contacts.ts'
import { dashboardDltRoutes } from '../http/dashboard/dashboard-dlt.ts'
import { domainDashboardRoutes } from '../http/dashboard/dashboard-domains.ts'
import { dashboardMemberRoutes } from '../http/dashboard/dashboard-members.ts'
import { dashboardNumberRoutes } from '../http/dashboard/dashboard-phone-numbers.ts'
import { dashboardPoolRoutes } from '../http/dashboard/dashboard-pools.ts'
import type { DashboardRoute } from '../http/dashboard/dashboard-route.ts'
import { webhookDashboardRoutes } from '../http/dashboard/dashboard-webhooks.ts'
import { messageRoutes } from '../http/dashboard/messages.ts'
import { orgRoutes } from '../http/dashboard/orgs.ts'
import { sessionPolicyRoutes } from '../http/dashboard/session-policy.ts'
import { providerRoutes } from '../http/dashboard/sign-in-providers.ts'
import { smsGeoRoutes } from '../http/dashboard/sms-geo.ts'
import { teamRoutes } from '../http/dashboard/team.ts'
import { makeTenantScope } from '../http/dashboard/tenant-scope.ts'
import type { BillingModule } from './billing.ts'
import type { Foundation } from './foundation.ts'
import type { People } from './people.ts'
import type { Platform } from './platform.ts'
import type { SmsRegistration } from './registration.ts'
import type { Resources } from './resources.ts'
import type { Sending } from './sending.ts'
import type { Team } from './team.ts'

export const makeDashboardCookies = ({ config, baseUrl }: Foundation): Cookies =>
  makeCookies(() => config.production || baseUrl.read().startsWith('https:'))

const makeAuditRoutes = ({ config, db, clock, log, audit }: Foundation): DashboardRoute[] => {
  const { auditSecrets: secrets, auditCutover: cutover } = config
  return auditRoutes({
    list: makeListAudit({ db }),
    verify: makeVerifyEntries({ db, log, audit, secrets, cutover }),
    verifyChain: makeVerifyChainPage({ db, clock, log, secrets, cutover: cutover.at }),
  })
}

const makeAudienceRoutes = (db: Db, { audiences, blasts, tenants }: Resources): DashboardRoute[] => {
  const tenantScope = makeTenantScope(tenants.lifecycle)
  return [
    ...dashboardAudienceRoutes({ db, manage: audiences.manage, send: blasts.send, tenantScope }),
    ...dashboardMemberRoutes(audiences),
    ...dashboardContactRoutes({ manage: audiences.contacts, find: audiences.findContacts, tenantScope }),
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
}

export const makeDashboardRoutes = (needs: Needs): DashboardRoute[] => {
  const { foundation, platform, sending, senders, resources, people, team, billing } = needs
  const { config, db, clock, log, vault } = foundation
  const { serviceDomain } = config
  const cookies = makeDashboardCookies(foundation)
  return [
    ...authRoutes({ ...people, cookies, sessions: platform.sessions }),
    ...providerRoutes({ ...people, clock, log, vault, cookies, baseUrl: foundation.baseUrl.read }),
    ...accountRoutes(people),
    ...sessionPolicyRoutes(people),
    ...accountDeletionRoutes({ deleteAccount: team.deleteAccount, cookies }),
    ...dashboardKeyRoutes({ db, clock, manage: resources.keys }),
    ...makeAuditRoutes(foundation),
    ...messageRoutes(sending.messages),
    ...orgRoutes({ db, manage: team.orgs, transfer: team.transfer, deleteOrg: team.deleteOrg, cookies, serviceDomain }),
    ...teamRoutes({ db, clock, cookies, ...team }),
    ...domainDashboardRoutes({ manage: sending.manageDomains, hosts: sending.mailHosts }),
    ...webhookDashboardRoutes({ db, ...resources.webhooks }),
    ...makeAudienceRoutes(db, resources),
    ...makeSenderRoutes(db, senders, resources),
    ...billingRoutes(billing),
    ...smsGeoRoutes(billing),
  ]
}
