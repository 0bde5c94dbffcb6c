/** Schemas that the messages of all channels share. */
import { z } from 'zod'
import { eachRefused, refusing, tenantByHeader } from '../ground/refused-fields.ts'
import { VariablesShape } from '../templates/variables.ts'

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
export const tags = z
  .array(z.string().min(1).max(maxTagLength))
  .max(maxTags)
  .default([])
  .describe('Up to 10 labels of up to 128 characters, which you can filter the list of messages by.')

export const maxValueLength = 2_048
export const metadata = smallMap('keys', z.record(z.string().min(1).max(maxTagLength), z.string().max(maxValueLength)))
  .default({})
  .describe(
    'Up to 50 texts of your own that are stored with the message. Keys have up to 128 characters, values up to 2,048.',
  )

/** Validated like those of a single message, so that a client learns of a fault in either. */
export const batchVariables = VariablesShape.optional().describe(
  'Accepted for compatibility and not used, because a batch does not support templates.',
)

/** What decides what a send sends, when, from whom and to whom. */
const effectiveFields = [
  'from_pool',
  'to',
  'cc',
  'bcc',
  'reply_to',
  'headers',
  'stream',
  'subject',
  'html',
  'text',
  'body',
  'template',
  'variables',
  'attachments',
  'media_url',
  'scheduled_at',
  'scheduled_local',
  'scheduled_at_tz',
  'ramp_minutes',
  'subject_variants',
  'winner',
]

/** A send that ignored such a field of another send would send something else than its caller means. */
export const refusingOtherSends = <S extends z.ZodObject>(schema: S): S => {
  const others = effectiveFields.filter((name) => !Object.hasOwn(schema.shape, name))
  return refusing(schema, {
    ...eachRefused(others, 'Not supported on this route.'),
    tenant_id: tenantByHeader,
    environment: 'The key decides whether the message is live.',
  })
}

export const instant = z.iso.datetime()

export const statusFilter = z.enum(['scheduled', 'sending', 'sent', 'delivered', 'bounced', 'failed', 'canceled'])

export const stringMap = z.record(z.string(), z.string())

export const exampleMessageId = 'msg_01k5w3v8q6e9rbx2t7m4n0c1yz'
export const exampleInstant = '2026-01-15T12:00:00.000Z'

export const ProviderResponseShape = z.strictObject({
  message_id: z.string().nullable().describe('The id that the provider assigned to the message.'),
  token: z.string().nullable().describe('The status token of a text message, as the provider reported it, or `null`.'),
  bounce_type: z.string().nullable().describe('The type of the bounce, such as `Permanent`.'),
  bounce_subtype: z.string().nullable().describe('The subtype of the bounce, such as `NoEmail`.'),
  detail: z.string().nullable().describe('What the provider or the receiving server reported.'),
})

export const HistoryShape = z.strictObject({
  status: statusFilter.describe('The status of the message.'),
  at: instant.describe('When it happened.'),
  recipient: z.string().nullable().describe('The recipient that a report is about, or `null` for all recipients.'),
  detail: z.string().nullable().describe('More about the change, or `null`.'),
})

export const BatchResponse = z
  .strictObject({
    data: z
      .array(
        z.strictObject({
          index: z.int().describe('The position of the item in the request, starting at 0.'),
          id: z.string().nullable().describe('The id of the message. `null` if none was stored.'),
          status: z.enum(['sent', 'failed']).describe('Whether the message was sent.'),
          error: z
            .strictObject({
              code: z.string().describe('The error code.'),
              message: z.string().describe('A description of the error for people.'),
            })
            .nullable()
            .describe('Why the item failed, or `null`.'),
        }),
      )
      .describe('The result of each item, in the order of the request.'),
    total: z.int().describe('The number of items.'),
    succeeded: z.int().describe('The number of items that were sent.'),
    failed: z.int().describe('The number of items that failed.'),
  })
  .meta({
    id: 'BatchResult',
    examples: [
      {
        data: [{ index: 0, id: exampleMessageId, status: 'sent', error: null }],
        total: 1,
        succeeded: 1,
        failed: 0,
      },
    ],
  })
