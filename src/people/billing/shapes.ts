/** Requests and responses of billing. */
import { z } from 'zod'
import { plans } from '../../customers/orgs/plans.ts'
import { refusing } from '../../platform/ground/refused-fields.ts'

const count = z.int().min(0)
const amount = z.string().regex(/^\d+\.\d+$/)
const quota = { used: count, limit: count.nullable(), remaining: count.nullable() }
const resource = z.strictObject({ used: count, max: count.nullable() })

export const billingStatuses = ['active', 'past_due', 'unpaid', 'canceling'] as const

export const Billing = z.strictObject({
  plan: z.enum(plans),
  status: z.enum(billingStatuses),
  period: z.string(),
  spend_cap_usd: z.number().nullable(),
  spend: z.strictObject({
    currency: z.literal('USD'),
    used: amount,
    cap: amount.nullable(),
    remaining: amount.nullable(),
  }),
  usage: z.strictObject({ email: z.strictObject(quota), sms: z.strictObject({ ...quota, segments: count }) }),
  limits: z.strictObject({ api_keys: resource, domains: resource, members: resource }),
  payment_method: z.strictObject({ brand: z.string(), last4: z.string() }).nullable(),
  next_invoice_at: z.string().nullable(),
  /** Only while the plan ends with the present period. */
  ends_at: z.string().optional(),
})

export const StartUpgrade = refusing(z.object({ plan: z.enum(plans) }), {
  spend_cap_usd: 'Set the spend cap with PATCH.',
})
export const CheckoutPage = z.strictObject({ checkout_url: z.string() })
export const PortalPage = z.strictObject({ portal_url: z.string() })

const hasCents = (value: number): boolean => Math.round(value * 100) / 100 === value

export const PatchBilling = refusing(
  z.object({
    spend_cap_usd: z.number().min(0).max(1_000_000).refine(hasCents, 'Use at most two decimals.').nullable().optional(),
  }),
  { plan: 'Change the plan with POST.' },
)
