/** Schemas that the messages of all channels share. */
import { z } from 'zod'

export const maxMapKeys = 50

/** Counts the keys before validating them: validating a map with a million keys takes seconds. */
export const smallMap = <M extends z.ZodType>(what: string, map: M) =>
  z.preprocess(
    (value, context) => {
      if (typeof value !== 'object' || value === null || Object.keys(value).length <= maxMapKeys) return value
      context.addIssue({ code: 'custom', message: `Must have at most ${maxMapKeys} ${what}.` })
      return z.NEVER
    },
    map.meta({ maxProperties: maxMapKeys }),
  )

export const maxTagLength = 128
export const maxTags = 10
export const tags = z.array(z.string().min(1).max(maxTagLength)).max(maxTags).default([])

export const maxValueLength = 2_048
export const metadata = smallMap(
  'keys',
  z.record(z.string().min(1).max(maxTagLength), z.string().max(maxValueLength)),
).default({})

export const instant = z.iso.datetime()

export const statusFilter = z.enum(['scheduled', 'sending', 'sent', 'delivered', 'bounced', 'failed', 'canceled'])

export const stringMap = z.record(z.string(), z.string())

export const ProviderResponseShape = z.strictObject({
  message_id: z.string().nullable(),
  token: z.string().nullable(),
  bounce_type: z.string().nullable(),
  bounce_subtype: z.string().nullable(),
  detail: z.string().nullable(),
})

export const HistoryShape = z.strictObject({
  status: statusFilter,
  at: instant,
  recipient: z.string().nullable(),
  detail: z.string().nullable(),
})

export const BatchResponse = z
  .strictObject({
    data: z.array(
      z.strictObject({
        index: z.int(),
        id: z.string().nullable(),
        status: z.enum(['sent', 'failed']),
        error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
      }),
    ),
    total: z.int(),
    succeeded: z.int(),
    failed: z.int(),
  })
  .meta({ id: 'BatchResult' })
