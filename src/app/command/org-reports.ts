/** `tidings ops org status` and `tidings ops org list`. */
import { requestsPerMinute } from '../../customers/orgs/plans.ts'
import { listOrgs, type OrgRow } from '../../customers/orgs/store.ts'
import { isoOrNull } from '../../platform/ground/instant.ts'
import { type EffectiveLimit, readEffectiveLimits } from '../operator/effective-limits.ts'
import { asLines, asTable, type Context, existing, pageOfOptions, print, printPage } from './ops-context.ts'

export const showOrg = (org: OrgRow) => ({
  id: org.id,
  slug: org.slug,
  name: org.name,
  plan: org.plan,
  rate_per_minute: org.rate_limit_per_minute ?? requestsPerMinute[org.plan],
  email_monthly: org.email_monthly,
  sms_monthly: org.sms_monthly,
  suspended_at: isoOrNull(org.suspended_at),
  suspension_reason: org.suspension_reason,
  created_at: org.created_at.toISOString(),
})

const limitLine = ({ name, used, limit, source }: EffectiveLimit): string[] => [
  name,
  used === null ? '-' : String(used),
  limit === null ? 'unlimited' : String(limit),
  source,
]

export const orgStatus = async (context: Context, orgId: string): Promise<void> => {
  const { db, clock } = context
  const org = await existing(db, orgId)
  const limits = await readEffectiveLimits(db, org, clock.now())
  const shown = showOrg(org)
  const table = asTable([['limit', 'used', 'of', 'from'], ...limits.map(limitLine)])
  print(context, { ...shown, limits }, `${asLines(shown)}\n\n${table}`)
}

const listLine = (org: OrgRow): string[] => [
  org.id,
  org.plan,
  org.suspended_at === null ? 'active' : 'suspended',
  org.created_at.toISOString(),
  org.name,
]

export const orgList = async (context: Context): Promise<void> => {
  const { keyset, limit } = pageOfOptions(context)
  const rows = await context.db.rows(listOrgs, { afterId: keyset.afterId, limit: keyset.limit })
  printPage(context, { rows, limit, show: showOrg, line: listLine })
}
