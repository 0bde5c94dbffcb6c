import { z } from 'zod'
import { givenId, givenInstant, patternText } from '../../ground/bounded-text.ts'
import { Failure } from '../../ground/errors.ts'
import { isLocalTime, isTimeZone } from '../../ground/local-time.ts'
import { isE164 } from '../../ground/phone-number.ts'
import { isSenderId } from '../../ground/sender-id.ts'
import { VariablesShape } from '../../templates/variables.ts'
import { HistoryShape, instant, metadata, ProviderResponseShape, statusFilter, stringMap, tags } from '../shapes.ts'

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
  .meta({ examples: ['Your order has shipped.'] })

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

const fromEither = (given: { from?: string | undefined; from_pool?: string | undefined }, context: z.RefinementCtx) => {
  if (given.from === undefined && given.from_pool === undefined) {
    const message = 'Provide from or from_pool.'
    context.addIssue({ code: 'invalid_type', expected: 'string', input: undefined, path: ['from'], message })
  }
  if (given.from !== undefined && given.from_pool !== undefined) {
    context.addIssue({ code: 'custom', path: ['from_pool'], message: 'Provide from or from_pool, not both.' })
  }
}

type GivenTime = {
  scheduled_at?: Date | undefined
  scheduled_local?: string | undefined
  scheduled_at_tz?: string | undefined
}

const oneTime = (given: GivenTime, context: z.RefinementCtx): void => {
  const { scheduled_at: at, scheduled_local: local, scheduled_at_tz: zone } = given
  const issue = (path: keyof GivenTime, message: string) => context.addIssue({ code: 'custom', path: [path], message })
  if (at !== undefined && local !== undefined)
    issue('scheduled_local', 'Provide scheduled_at or scheduled_local, not both.')
  if (local !== undefined && zone === undefined) issue('scheduled_at_tz', 'Required with scheduled_local.')
  if (zone !== undefined && local === undefined) issue('scheduled_local', 'Required with scheduled_at_tz.')
}

const textOrTemplate = (
  given: { body?: string | undefined; template?: string | undefined },
  context: z.RefinementCtx,
) => {
  if (given.body !== undefined || given.template !== undefined) return
  const message = 'Provide body or template.'
  context.addIssue({ code: 'invalid_type', expected: 'string', input: undefined, path: ['body'], message })
}

export const SendSms = z
  .object({
    ...common,
    from: from.optional(),
    from_pool: z.string().min(1).max(64).optional().meta({ description: 'The slug of a pool, instead of `from`.' }),
    to,
    body: body.optional(),
    template: z.string().min(1).max(64).optional().meta({ description: 'The slug of the SMS template to render.' }),
    variables: VariablesShape.default({}),
    scheduled_at: givenInstant.transform((text) => new Date(text)).optional(),
    scheduled_local: z
      .string()
      .max(32)
      .refine(isLocalTime, 'Must be a local time such as 2026-03-29T09:00, without an offset.')
      .optional()
      .meta({ description: 'A local time, in the zone `scheduled_at_tz`.', examples: ['2026-03-29T09:00'] }),
    scheduled_at_tz: z
      .string()
      .max(64)
      .refine(isTimeZone, 'Must be an IANA time zone, such as Europe/Berlin.')
      .optional()
      .meta({ examples: ['Europe/Berlin'] }),
  })
  .superRefine((given, context) => {
    fromEither(given, context)
    textOrTemplate(given, context)
    oneTime(given, context)
  })
  .meta({
    id: 'SendSms',
    examples: [{ from: '+15125550199', to: '+15125550100', body: 'Your order has shipped.' }],
  })
export type SendSms = z.output<typeof SendSms>

/** Fields that would change the sender, the content or the time. A batch rejects them instead of ignoring them. */
const notInBatch = {
  template: z.never('Not supported in a batch.').optional(),
  scheduled_at: z.never('Not supported in a batch.').optional(),
  scheduled_local: z.never('Not supported in a batch.').optional(),
  from_pool: z.never('Not supported in a batch.').optional(),
}

export const SmsBatchItem = z.object({ ...common, from, to, body, ...notInBatch }).meta({ id: 'SmsBatchItem' })
export type SmsBatchItem = z.output<typeof SmsBatchItem>

export const BulkSms = z
  .object({ ...common, from, to: z.array(to).min(1).max(100), body, ...notInBatch })
  .meta({ id: 'BulkSms' })
export type BulkSms = z.output<typeof BulkSms>

export const AcceptedSms = z
  .strictObject({
    id: z.string(),
    channel: z.literal('sms'),
    status: z.enum(['sent', 'scheduled']),
    segments: z.int(),
    created_at: instant,
    scheduled_at: instant.optional(),
  })
  .meta({ id: 'SmsAccepted' })

export const CanceledSms = z
  .strictObject({ id: z.string(), channel: z.literal('sms'), status: z.literal('canceled'), canceled_at: instant })
  .meta({ id: 'SmsCanceled' })

export const SmsItem = z
  .strictObject({
    id: z.string(),
    channel: z.literal('sms'),
    status: statusFilter,
    from: z.string(),
    to: z.string().nullable(),
    segments: z.int(),
    created_at: instant,
    sent_at: instant.nullable(),
    delivered_at: instant.nullable(),
  })
  .meta({ id: 'SmsListItem' })

export const SmsDetail = z
  .strictObject({
    id: z.string(),
    channel: z.literal('sms'),
    status: statusFilter,
    from: z.string(),
    from_pool: z.string().nullable(),
    to: z.string().nullable(),
    body: z.string().nullable(),
    segments: z.int(),
    media_url: z.array(z.string()),
    dlt_template_id: z.string().nullable(),
    tags: z.array(z.string()),
    metadata: stringMap,
    created_at: instant,
    scheduled_at: instant.nullable(),
    scheduled_local: z.string().nullable(),
    scheduled_at_tz: z.string().nullable(),
    sent_at: instant.nullable(),
    delivered_at: instant.nullable(),
    canceled_at: instant.nullable(),
    redacted_at: instant.nullable(),
    error_message: z.string().nullable(),
    provider_response: ProviderResponseShape.nullable(),
    status_history: z.array(HistoryShape),
    job_id: z.string().nullable(),
    tenant_id: z.string().nullable(),
  })
  .meta({ id: 'Sms' })
