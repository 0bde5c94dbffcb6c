/** The limits that apply to an org now, and where each of them comes from. */
import { requestsPerMinute } from '../../customers/orgs/plans.ts'
import type { OrgRow } from '../../customers/orgs/store.ts'
import { dayOf, monthOf } from '../../customers/usage/periods.ts'
import {
  dedicatedIpLimit,
  monthlyQuota,
  type Resource,
  resourceLimit,
  sandboxDaily,
  testDaily,
} from '../../customers/usage/plan-limits.ts'
import { usd } from '../../customers/usage/read.ts'
import { findAllowance, readCounters } from '../../customers/usage/store.ts'
import type { Db } from '../../platform/db/pool.ts'

export type EffectiveLimit = {
  name: string
  /** Null means unlimited. Money is a text with two decimals. */
  limit: number | string | null
  /** What was used in the current period. Null where nothing is counted. */
  used: number | string | null
  /** `contract` is set by an operator for this org, `org` by the org itself, `service` is the same for all. */
  source: 'plan' | 'contract' | 'org' | 'service' | 'none'
}

const resources = Object.entries(resourceLimit) as [Resource, (typeof resourceLimit)[Resource]][]

const planOrContract = (contract: number | null, plan: number | null): Pick<EffectiveLimit, 'limit' | 'source'> =>
  contract === null ? { limit: plan, source: 'plan' } : { limit: contract, source: 'contract' }

type UsedBy = (measure: string) => number

/** Reads what the org has used in one period of one environment. */
const readUsed = async (db: Db, orgId: string, environment: 'live' | 'test', period: string): Promise<UsedBy> => {
  const rows = await db.rows(readCounters, { orgId, subject: 'org', environment, period })
  const used = new Map(rows.map((row) => [row.measure, row.used]))
  return (measure) => used.get(measure) ?? 0
}

export const readEffectiveLimits = async (db: Db, org: OrgRow, at: Date): Promise<EffectiveLimit[]> => {
  const { id: orgId, plan } = org
  const month = await readUsed(db, orgId, 'live', monthOf(at))
  const today = await readUsed(db, orgId, 'live', dayOf(at))
  const testToday = await readUsed(db, orgId, 'test', dayOf(at))
  const cap = (await db.row(findAllowance, { orgId, tenantId: null }))?.spend_cap_micros ?? null
  const { email, sms } = monthlyQuota[plan]
  return [
    { name: 'requests_per_minute', used: null, ...planOrContract(org.rate_limit_per_minute, requestsPerMinute[plan]) },
    { name: 'email_per_month', used: month('email'), ...planOrContract(org.email_monthly, email) },
    { name: 'sms_per_month', used: month('sms'), ...planOrContract(org.sms_monthly, sms) },
    {
      name: 'spend_usd_per_month',
      limit: cap === null ? null : usd(cap, 2),
      used: usd(month('spend'), 6),
      source: cap === null ? 'none' : 'org',
    },
    { name: 'test_messages_per_day', limit: testDaily[plan], used: testToday('messages'), source: 'plan' },
    { name: 'sandbox_recipients_per_day', limit: sandboxDaily, used: today('sandbox'), source: 'service' },
    ...resources.map(
      ([name, limits]): EffectiveLimit => ({
        name: name.toLowerCase().replace(/ /g, '_'),
        limit: limits[plan],
        used: null,
        source: 'plan',
      }),
    ),
    { name: 'dedicated_ips', limit: dedicatedIpLimit[plan], used: null, source: 'plan' },
  ]
}
