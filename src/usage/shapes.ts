import { z } from 'zod'
import { plans } from '../orgs/plans.ts'

const count = z.int().min(0)
const amount = z.string().regex(/^\d+\.\d+$/)

export const UsageReport = z
  .strictObject({
    period: z.string(),
    environment: z.enum(['live', 'test']),
    plan: z.enum(plans),
    tenant_id: z.string().nullable(),
    email: z.strictObject({ used: count, limit: count.nullable(), remaining: count.nullable() }),
    sms: z.strictObject({
      used: count,
      segments: count,
      limit: count.nullable(),
      remaining: count.nullable(),
    }),
    spend: z
      .strictObject({
        currency: z.literal('USD'),
        used: amount,
        cap: amount.nullable(),
        remaining: amount.nullable(),
      })
      .nullable(),
    by_key: z
      .array(
        z.strictObject({
          key_id: z.string().nullable(),
          name: z.string().nullable(),
          email: count,
          sms: count,
          segments: count,
          spend: amount,
        }),
      )
      .optional(),
  })
  .meta({ id: 'Usage' })
