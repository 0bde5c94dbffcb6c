/** Schemas that the messages of all channels share. */
import { z } from 'zod'
import { givenInstant } from '../../platform/ground/bounded-text.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import { isLocalTime, isTimeZone } from '../../platform/ground/local-time.ts'
import { eachRefused, refusing, tenantByHeader } from '../../platform/ground/refused-fields.ts'
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

const notSupported = z.never('Not supported in a batch.').optional().describe('Not supported in a batch.')

/** Fields that would change the sender, the content or the time. A batch rejects them instead of ignoring them. */
export const notInBatch = {
  template: notSupported,
  scheduled_at: notSupported,
  scheduled_local: notSupported,
  from_pool: notSupported,
}

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

export const localTime = z
  .string()
  .max(32)
  .refine(isLocalTime, 'Must be a local time such as 2026-03-29T09:00, without an offset.')
  .optional()

export const timeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'Must be an IANA time zone, such as Europe/Berlin.')
  .optional()

export const scheduledAt = givenInstant.transform((text) => new Date(text)).optional()

export const templateSlug = z.string().min(1).max(64).optional()

export const customIssue = (context: z.RefinementCtx, path: PropertyKey[], message: string): void =>
  context.addIssue({ code: 'custom', path, message })

/** Reports a text that is missing, as if the schema required it. */
export const missingText = (context: z.RefinementCtx, field: string, message: string): void =>
  context.addIssue({ code: 'invalid_type', expected: 'string', input: undefined, path: [field], message })

type GivenTime = { scheduled_local?: string | undefined; scheduled_at_tz?: string | undefined }

/** A local time needs its zone, and the zone a local time. */
export const checkLocalTime = (given: GivenTime, context: z.RefinementCtx): void => {
  const { scheduled_local: local, scheduled_at_tz: zone } = given
  const required = (field: string, message: string) => customIssue(context, [field], message)
  if (local !== undefined && zone === undefined) required('scheduled_at_tz', 'Required with scheduled_local.')
  if (zone !== undefined && local === undefined) required('scheduled_local', 'Required with scheduled_at_tz.')
}

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

type Channeled<C extends Channel> = {
  channel: C
  /** What texts call a message of the channel. */
  noun: string
  /** Who has a delivered message. */
  receiver: string
  recipients: string
}

/** The fields that the responses of both channels have. */
export const responseFields = <C extends Channel>({ channel, noun, receiver, recipients }: Channeled<C>) => {
  const named = {
    id: z.string().describe(`The id of the ${noun}, such as \`msg_…\`.`),
    channel: z.literal(channel).describe(`Always \`${channel}\`.`),
  }
  const created_at = instant.describe(`When the ${noun} was accepted.`)
  const sent_at = instant.nullable().describe(`When the provider accepted the ${noun}, or \`null\`.`)
  const delivered_at = instant.nullable().describe(`When the ${noun} was delivered, or \`null\`.`)
  return {
    named,
    status: statusFilter.describe(
      `The state of the ${noun}. \`sent\` means that the provider accepted it, \`delivered\` that the ${receiver} did.`,
    ),
    acceptedStatus: z.enum(['sent', 'scheduled']).describe(`\`scheduled\` if the ${noun} is sent later.`),
    accepted: {
      created_at,
      scheduled_at: instant.optional().describe(`When the ${noun} will be sent. Present only if it is scheduled.`),
    },
    canceled: z.strictObject({
      ...named,
      status: z.literal('canceled').describe('Always `canceled`.'),
      canceled_at: instant.describe(`When the ${noun} was canceled.`),
    }),
    times: { created_at, sent_at, delivered_at },
    labels: {
      tags: z.array(z.string()).describe('Your labels.'),
      metadata: stringMap.describe('Your own texts.'),
      created_at,
      scheduled_at: instant.nullable().describe(`When a scheduled ${noun} is sent, or \`null\`.`),
    },
    outcome: {
      sent_at,
      delivered_at,
      canceled_at: instant.nullable().describe(`When the ${noun} was canceled, or \`null\`.`),
      redacted_at: instant.nullable().describe(`When the content and ${recipients} were removed, or \`null\`.`),
      error_message: z.string().nullable().describe(`Why the ${noun} failed, or \`null\`.`),
      provider_response: ProviderResponseShape.nullable().describe('What the provider reported, or `null`.'),
      status_history: z.array(HistoryShape).describe(`The statuses of the ${noun} and reports about it, oldest first.`),
      job_id: z.string().nullable().describe(`The job that sent the ${noun}, or \`null\`.`),
      tenant_id: z.string().nullable().describe(`The tenant of the ${noun}, or \`null\`.`),
    },
  }
}

export const exampleTimes = { created_at: exampleInstant, sent_at: exampleInstant, delivered_at: null }

export const exampleOutcome = (providerMessageId: string) => ({
  sent_at: exampleInstant,
  delivered_at: null,
  canceled_at: null,
  redacted_at: null,
  error_message: null,
  provider_response: {
    message_id: providerMessageId,
    token: null,
    bounce_type: null,
    bounce_subtype: null,
    detail: null,
  },
  status_history: [{ status: 'sent', at: exampleInstant, recipient: null, detail: null }],
  job_id: null,
  tenant_id: null,
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
export type BatchResult = z.output<typeof BatchResponse>
