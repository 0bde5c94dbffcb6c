/** The routes of the dashboard, under /api/internal and /api/auth. Add a new route here. */
import { makeListAudit } from '../audit/list-entries.ts'
import { makeVerifyChainPage } from '../audit/verify-chain-page.ts'
import { makeVerifyEntries } from '../audit/verify-entries.ts'
import { accountRoutes } from '../http/dashboard/account.ts'
import { accountDeletionRoutes } from '../http/dashboard/account-deletion.ts'
import { dashboardKeyRoutes } from '../http/dashboard/api-keys.ts'
import { auditRoutes } from '../http/dashboard/audit.ts'
import { authRoutes } from '../http/dashboard/auth.ts'
import { type Cookies, makeCookies } from '../http/dashboard/cookies.ts'
import type { DashboardRoute } from '../http/dashboard/dashboard-route.ts'
import { orgRoutes } from '../http/dashboard/orgs.ts'
import { sessionPolicyRoutes } from '../http/dashboard/session-policy.ts'
import { providerRoutes } from '../http/dashboard/sign-in-providers.ts'
import { ssoRoutes } from '../http/dashboard/sso.ts'
import { ssoSignInRoutes } from '../http/dashboard/sso-sign-in.ts'
import { teamRoutes } from '../http/dashboard/team.ts'
import type { Foundation } from './foundation.ts'
import type { People } from './people.ts'
import type { Platform } from './platform.ts'
import type { Sso } from './sso.ts'
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

type Needs = { foundation: Foundation; platform: Platform; people: People; team: Team; sso: Sso }

export const makeDashboardRoutes = ({ foundation, platform, people, team, sso }: Needs): DashboardRoute[] => {
  const { config, db, clock, log, vault } = foundation
  const { serviceDomain } = config
  const cookies = makeDashboardCookies(foundation)
  return [
    ...authRoutes({ ...people, cookies, sessions: platform.sessions }),
    ...providerRoutes({ ...people, clock, log, vault, cookies, baseUrl: foundation.baseUrl.read }),
    ...ssoSignInRoutes({ ...sso, db, clock, log, vault, cookies, baseUrl: foundation.baseUrl.read }),
    ...ssoRoutes({ ...sso, baseUrl: foundation.baseUrl.read }),
    ...accountRoutes(people),
    ...sessionPolicyRoutes(people),
    ...accountDeletionRoutes({ deleteAccount: team.deleteAccount, cookies }),
    ...dashboardKeyRoutes({ db, clock }),
    ...makeAuditRoutes(foundation),
    ...orgRoutes({ db, manage: team.orgs, transfer: team.transfer, deleteOrg: team.deleteOrg, cookies, serviceDomain }),
    ...teamRoutes({ db, clock, cookies, ...team }),
  ]
}
