import { z } from 'zod'
import { plans } from '../orgs/plans.ts'

const count = z.int().min(0)
const amount = z.string().regex(/^\d+\.\d+$/)
const limits = {
  limit: count.nullable().describe('The number that the plan or the quota allows per month. `null` if unlimited.'),
  remaining: count.nullable().describe('What is left of the limit this month. `null` if unlimited.'),
}

export const UsageReport = z
  .strictObject({
    period: z.string().describe('The UTC month, such as `2026-03`.'),
    environment: z.enum(['live', 'test']).describe('The environment that is counted: that of the API key.'),
    plan: z.enum(plans).describe('The plan of your organisation.'),
    tenant_id: z.string().nullable().describe('The tenant that is counted. `null` for the whole organisation.'),
    email: z
      .strictObject({ used: count.describe('The number of recipients of emails.'), ...limits })
      .describe('The usage of email.'),
    sms: z
      .strictObject({
        used: count.describe('The number of SMS.'),
        segments: count.describe('The number of segments of these SMS, which carriers charge for.'),
        ...limits,
      })
      .describe('The usage of SMS.'),
    spend: z
      .strictObject({
        currency: z.literal('USD').describe('The currency of the amounts, always `USD`.'),
        used: amount.describe('The cost of the month, as a decimal number.'),
        cap: amount.nullable().describe('The spend cap of your organisation, or `null`.'),
        remaining: amount.nullable().describe('What is left of the cap, or `null`.'),
      })
      .nullable()
      .describe('The cost of the month. `null` for a tenant.'),
    by_key: z
      .array(
        z.strictObject({
          key_id: z.string().nullable().describe('The id of the API key. `null` for sends without a key.'),
          name: z.string().nullable().describe('The name of the API key.'),
          email: count.describe('The number of recipients of emails.'),
          sms: count.describe('The number of SMS.'),
          segments: count.describe('The number of SMS segments.'),
          spend: amount.describe('The cost in US dollars, as a decimal number.'),
        }),
      )
      .optional()
      .describe('The usage of each API key. Present only with `by_key=true`.'),
  })
  .meta({
    id: 'Usage',
    examples: [
      {
        period: '2026-01',
        environment: 'live',
        plan: 'pro',
        tenant_id: null,
        email: { used: 1_200, limit: 50_000, remaining: 48_800 },
        sms: { used: 0, segments: 0, limit: null, remaining: null },
        spend: { currency: 'USD', used: '0.480000', cap: '100.00', remaining: '99.520000' },
      },
    ],
  })
