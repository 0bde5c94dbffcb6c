import type { z } from 'zod'
import { monthOf } from '../../customers/usage/periods.ts'
import { resourceLimit } from '../../customers/usage/plan-limits.ts'
import type { ReadUsage } from '../../customers/usage/read.ts'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { isoOrNull } from '../../platform/ground/instant.ts'
import type { Billing } from './shapes.ts'
import { type BillingRow, findBilling } from './store/customer-rows.ts'

type BillingPage = z.output<typeof Billing>

/** The plan, the month so far, and how the org pays. */
export type ReadBilling = (orgId: string) => Promise<BillingPage>

/** An org without a subscription owes nothing, so it is active. */
const statusOf = ({ status, ends_at }: BillingRow): BillingPage['status'] => {
  if (status === 'past_due' || status === 'unpaid') return status
  return ends_at === null ? 'active' : 'canceling'
}

export const makeReadBilling =
  ({ db, clock, readUsage, provider }: StoreNeeds & { readUsage: ReadUsage; provider: string }): ReadBilling =>
  async (orgId) => {
    const period = monthOf(clock.now())
    const [row, usage] = await Promise.all([
      db.row(findBilling, { orgId, provider }),
      readUsage({ orgId, tenantId: null, environment: 'live', period, byKey: false }),
    ])
    if (!row || !usage.spend) throw new Failure('NOT_FOUND')
    const { plan, email, sms, spend } = usage
    const { card_brand: brand, card_last4: last4, ends_at: endsAt } = row
    return {
      plan,
      status: statusOf(row),
      period,
      spend_cap_usd: spend.cap === null ? null : Number(spend.cap),
      spend,
      usage: { email, sms },
      limits: {
        api_keys: { used: row.api_keys, max: resourceLimit['API keys'][plan] },
        domains: { used: row.domains, max: resourceLimit.domains[plan] },
        members: { used: row.members, max: null },
      },
      payment_method: brand === null || last4 === null ? null : { brand, last4 },
      next_invoice_at: endsAt === null ? isoOrNull(row.period_ends_at) : null,
      ...(endsAt !== null && { ends_at: endsAt.toISOString() }),
    }
  }
