import { z } from 'zod'
import { givenId, patternText } from '../../../platform/ground/bounded-text.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { isE164 } from '../../../platform/ground/phone-number.ts'
import { isSenderId } from '../../../platform/ground/sender-id.ts'
import { VariablesShape, variablesText } from '../../templates/variables.ts'
import {
  batchVariables,
  checkLocalTime,
  customIssue,
  exampleInstant,
  exampleMessageId,
  exampleOutcome,
  exampleTimes,
  localTime,
  metadata,
  missingText,
  notInBatch,
  refusingOtherSends,
  responseFields,
  scheduledAt,
  tags,
  templateSlug,
  timeZone,
} from '../shapes.ts'

/** The limit for the body, before and after a template is rendered. */
export const maxBodyLength = 1_600

/** Counts characters as people do: a surrogate pair is one. */
export const lengthOf = (text: string): number => {
  let length = 0
  for (const _ of text) length++
  return length
}

const from = z
  .string()
  .max(16)
  .refine((text) => isE164(text) || isSenderId(text), 'Must be a number in E.164 form or an alphanumeric sender id.')
  .meta({ description: 'A verified sender of your org: a number or a sender id.', examples: ['+15125550199', 'Acme'] })

const to = patternText(/^\+[1-9]\d{1,14}$/, 16, 'Must be a number in E.164 form, such as +15125550100.').meta({
  description: 'The number of the recipient, in E.164 form.',
  examples: ['+15125550100'],
})

const body = z
  .string()
  .min(1)
  // In UTF-16 code units, of which a character has at most two.
  .max(2 * maxBodyLength, { error: `Must be at most ${maxBodyLength} characters.`, abort: true })
  .refine((text) => lengthOf(text) <= maxBodyLength, `Must be at most ${maxBodyLength} characters.`)
  .meta({
    description: `The text, up to ${maxBodyLength} characters.`,
    examples: ['Your order has shipped.'],
  })

export const maxMedia = 10

/** More entries than an MMS can have are accepted here, because they have an error code of their own. */
const mediaUrl = z
  .array(
    z
      .string()
      .max(2_048)
      .meta({ examples: ['s3://media/cat.jpg'] }),
  )
  .max(100)
  .default([])
  .meta({ description: 'Up to 10 files of an MMS, as `s3://bucket/key`.' })

const mediaForm = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/[^\s\p{Cc}]{1,1024}$/u

/** Media rules have their own error codes. */
export const assertMedia = (media: readonly string[]): void => {
  if (media.length > maxMedia) throw new Failure('MMS_TOO_MANY_ATTACHMENTS')
  if (!media.every((uri) => mediaForm.test(uri))) throw new Failure('MMS_INVALID_MEDIA_URI')
}

const common = {
  tags,
  metadata,
  media_url: mediaUrl,
  dlt_template_id: givenId.optional().meta({
    description: 'The approved DLT template, required for +91 numbers.',
    examples: ['dlt_01kd6q2v9k8x7w6t5s4r3q2p1n'],
  }),
}

const single = refusingOtherSends(
  z.object({
    ...common,
    from: from.optional(),
    from_pool: z.string().min(1).max(64).optional().meta({ description: 'The slug of a pool, instead of `from`.' }),
    to,
    body: body.optional(),
    template: templateSlug.meta({ description: 'The slug of the SMS template to render.' }),
    variables: VariablesShape.default({}).describe(variablesText),
    scheduled_at: scheduledAt.describe(
      'When to send the message, in ISO 8601 with an offset. Sent immediately if you omit it.',
    ),
    scheduled_local: localTime.meta({
      description: 'A local time, in the zone `scheduled_at_tz`.',
      examples: ['2026-03-29T09:00'],
    }),
    scheduled_at_tz: timeZone.meta({
      description: 'The IANA time zone of `scheduled_local`.',
      examples: ['Europe/Berlin'],
    }),
  }),
)
type Given = z.output<typeof single>

const fromEither = ({ from, from_pool }: Given, context: z.RefinementCtx): void => {
  if (from === undefined && from_pool === undefined) missingText(context, 'from', 'Provide from or from_pool.')
  if (from !== undefined && from_pool !== undefined) {
    customIssue(context, ['from_pool'], 'Provide from or from_pool, not both.')
  }
}

const oneTime = (given: Given, context: z.RefinementCtx): void => {
  if (given.scheduled_at !== undefined && given.scheduled_local !== undefined) {
    customIssue(context, ['scheduled_local'], 'Provide scheduled_at or scheduled_local, not both.')
  }
  checkLocalTime(given, context)
}

export const SendSms = single
  .superRefine((given, context) => {
    fromEither(given, context)
    if (given.body === undefined && given.template === undefined) {
      missingText(context, 'body', 'Provide body or template.')
    }
    oneTime(given, context)
  })
  .meta({
    id: 'SendSms',
    examples: [{ from: 'TIDINGS', to: '+447700900100', body: 'Your order has shipped.' }],
  })
export type SendSms = z.output<typeof SendSms>

export const SmsBatchItem = refusingOtherSends(
  z.object({ ...common, from, to, body, variables: batchVariables, ...notInBatch }),
).meta({ id: 'SmsBatchItem' })
export type SmsBatchItem = z.output<typeof SmsBatchItem>

export const BulkSms = refusingOtherSends(
  z.object({
    ...common,
    from,
    to: z.array(to).min(1).max(100).describe('1 to 100 numbers, which each receive a separate message.'),
    body,
    variables: batchVariables,
    ...notInBatch,
  }),
).meta({ id: 'BulkSms' })
export type BulkSms = z.output<typeof BulkSms>

const { named, status, acceptedStatus, accepted, canceled, times, labels, outcome } = responseFields({
  channel: 'sms',
  noun: 'message',
  receiver: 'phone',
  recipients: 'recipient',
})
const sender = z.string().describe('The number or sender id that the message is from.')
const recipient = z.string().nullable().describe('The number of the recipient. `null` if the message was redacted.')
const segments = z.int().describe('The number of SMS parts that the text is sent in.')
const exampleNamed = { id: exampleMessageId, channel: 'sms' }

export const AcceptedSms = z.strictObject({ ...named, status: acceptedStatus, segments, ...accepted }).meta({
  id: 'SmsAccepted',
  examples: [{ ...exampleNamed, status: 'sent', segments: 1, created_at: exampleInstant }],
})

const exampleCanceled = { ...exampleNamed, status: 'canceled', canceled_at: exampleInstant }
export const CanceledSms = canceled.meta({ id: 'SmsCanceled', examples: [exampleCanceled] })

export const SmsItem = z.strictObject({ ...named, status, from: sender, to: recipient, segments, ...times }).meta({
  id: 'SmsListItem',
  examples: [{ ...exampleNamed, status: 'sent', from: 'TIDINGS', to: '+447700900100', segments: 1, ...exampleTimes }],
})

const exampleSms = {
  ...exampleNamed,
  status: 'sent',
  from: 'TIDINGS',
  from_pool: null,
  to: '+447700900100',
  body: 'Your order has shipped.',
  segments: 1,
  media_url: [],
  dlt_template_id: null,
  tags: [],
  metadata: {},
  created_at: exampleInstant,
  scheduled_at: null,
  scheduled_local: null,
  scheduled_at_tz: null,
  ...exampleOutcome('0f8d7c52-6b1e-4d3a-9c41-2a7e5b90d1f6'),
}

export const SmsDetail = z
  .strictObject({
    ...named,
    status,
    from: sender,
    from_pool: z.string().nullable().describe('The slug of the pool that the message was sent from, or `null`.'),
    to: recipient,
    body: z.string().nullable().describe('The rendered text. `null` if the message was redacted.'),
    segments,
    media_url: z.array(z.string()).describe('The files of an MMS, as `s3://bucket/key`.'),
    dlt_template_id: z.string().nullable().describe('The DLT template of a message to India, or `null`.'),
    ...labels,
    scheduled_local: z.string().nullable().describe('The local time of a scheduled message, or `null`.'),
    scheduled_at_tz: z.string().nullable().describe('The time zone of `scheduled_local`, or `null`.'),
    ...outcome,
  })
  .meta({ id: 'Sms', examples: [exampleSms] })
