import { z } from 'zod'
import { givenInstant, patternText } from '../../ground/bounded-text.ts'
import { domainPart, parseMailbox } from '../../ground/mailbox.ts'
import type { Address } from '../../providers/email/email-provider.ts'
import { isReservedHeader } from '../../providers/email/mail-headers.ts'
import { VariablesShape } from '../../templates/variables.ts'
import {
  distinctContentIds,
  InlineAttachment,
  maxAttachments,
  type NamedAttachments,
  RemoteAttachment,
} from './attachment-shapes.ts'

const notAnAddress = (context: z.RefinementCtx): never => {
  context.addIssue({
    code: 'invalid_format',
    format: 'email',
    message: 'Must be an email address, with or without a display name.',
  })
  return z.NEVER
}

/** Replaces a `from` without a domain until the first gate rejects it. */
export const noSender: Address = { address: '', name: null }

/** The maximum length of a display name and an address together. */
export const maxMailboxLength = 1_000

const asWritten = {
  description: '`ada@example.com` or `Ada Lovelace <ada@example.com>`.',
  examples: ['ada@example.com', 'Ada Lovelace <ada@example.com>'],
}

const written = z
  .string()
  .max(maxMailboxLength)
  .transform((text, context): Address => {
    return parseMailbox(text) ?? notAnAddress(context)
  })
  .meta(asWritten)

/** A list of addresses, or a single address, which becomes a list of one. */
const addressList = (max: number) =>
  z.union([z.array(written).max(max), written.transform((address) => [address]).meta(asWritten)]).default([])

const oneLine = /^[^\r\n]*$/

export const maxHeaders = 50

/** Counts the keys before validating them: validating a map with a million keys takes seconds. */
const smallMap = <M extends z.ZodType>(what: string, map: M) =>
  z.preprocess(
    (value, context) => {
      if (typeof value !== 'object' || value === null || Object.keys(value).length <= maxHeaders) return value
      context.addIssue({ code: 'custom', message: `Must have at most ${maxHeaders} ${what}.` })
      return z.NEVER
    },
    map.meta({ maxProperties: maxHeaders }),
  )

export const HeaderName = patternText(
  /^[!-9;-~]{1,126}$/,
  126,
  'Must be 1 to 126 printable ASCII characters without colons or spaces.',
)
  .refine((name) => !isReservedHeader(name), 'This header is set by the service. Remove it.')
  .meta({ examples: ['X-Order'] })

export const HeaderValue = z.string().max(2_000).regex(oneLine, 'Must not contain line breaks.')

/** Header names ignore case. If a header appeared twice, each receiver would decide which one applies. */
const namedOnce = (given: Record<string, string>, context: z.RefinementCtx): void => {
  const seen = new Set<string>()
  for (const name of Object.keys(given)) {
    if (seen.has(name.toLowerCase())) {
      context.addIssue({
        code: 'custom',
        path: [name],
        message: 'Duplicate header: names that differ only in case are the same.',
      })
    }
    seen.add(name.toLowerCase())
  }
}

const headers = smallMap('headers', z.record(HeaderName, HeaderValue).superRefine(namedOnce)).default({})

export const maxTagLength = 128
export const maxTags = 10
const tags = z.array(z.string().min(1).max(maxTagLength)).max(maxTags).default([])

export const maxValueLength = 2_048
const metadata = smallMap(
  'keys',
  z.record(z.string().min(1).max(maxTagLength), z.string().max(maxValueLength)),
).default({})

/** The maximum length of a line in an email. */
export const maxSubjectLength = 998
const subject = z
  .string()
  .max(maxSubjectLength)
  .regex(oneLine, 'Must not contain line breaks.')
  .meta({ examples: ['Your invoice'] })
  .optional()

const common = {
  from: z
    .string()
    .max(maxMailboxLength)
    .transform((text, context): Address => {
      const address = parseMailbox(text)
      if (address) return address
      // A `from` without a domain has its own error code, which a schema cannot return.
      if (domainPart(text) === '') return noSender
      return notAnAddress(context)
    })
    .meta({
      description: 'An address on a verified domain of your org.',
      examples: ['Acme <hello@example.com>'],
    }),
  subject,
  html: z
    .string()
    .meta({ examples: ['<p>It is attached.</p>'] })
    .optional(),
  text: z
    .string()
    .optional()
    .meta({
      description: 'If omitted, the message has a text made from `html`. An empty text switches that off.',
      examples: ['It is attached.'],
    }),
  stream: z.enum(['transactional', 'broadcast']).default('transactional'),
  reply_to: addressList(10),
  headers,
  tags,
  metadata,
  track_opens: z.boolean().default(false),
  track_clicks: z.boolean().default(false),
}

/** The maximum for each of To, Cc and Bcc. */
export const maxRecipients = 50

const recipients = {
  to: z.array(written).min(1).max(maxRecipients),
  cc: addressList(maxRecipients),
  bcc: addressList(maxRecipients),
}

const inline = z.array(InlineAttachment).max(maxAttachments).default([])

type Said = { subject?: string | undefined; html?: string | undefined; text?: string | undefined }

/** Requires a subject and content, unless a template may supply them. */
const saysSomething = (body: Said & { template?: string | undefined }, context: z.RefinementCtx): void => {
  if (body.template !== undefined) return
  const missing = (path: keyof Said, message: string) =>
    context.addIssue({ code: 'invalid_type', expected: 'string', input: undefined, path: [path], message })
  if (!body.subject) missing('subject', 'Required unless the template supplies it.')
  if (!body.html && !body.text) missing('html', 'Provide html, text or both.')
}

/** Rules that concern several fields. */
const isSendable = (body: Parameters<typeof saysSomething>[0] & NamedAttachments, context: z.RefinementCtx): void => {
  saysSomething(body, context)
  distinctContentIds(body, context)
}

export const SendEmail = z
  .object({
    ...common,
    ...recipients,
    attachments: inline,
    template: z.string().min(1).max(64).optional().meta({ description: 'The slug of the template to render.' }),
    variables: VariablesShape.default({}),
    scheduled_at: givenInstant.transform((text) => new Date(text)).optional(),
  })
  .superRefine(isSendable)
  .meta({ id: 'SendEmail' })
export type SendEmail = z.output<typeof SendEmail>

/** Fields that would change the content or the time of the message. A batch rejects them instead of ignoring them. */
const notInBatch = {
  template: z.never('Not supported in a batch.').optional(),
  scheduled_at: z.never('Not supported in a batch.').optional(),
  scheduled_local: z.never('Not supported in a batch.').optional(),
  from_pool: z.never('Not supported in a batch.').optional(),
}

export const BatchItem = z
  .object({ ...common, ...recipients, attachments: inline, variables: VariablesShape.optional(), ...notInBatch })
  .superRefine(isSendable)
  .meta({ id: 'EmailBatchItem' })
export type BatchItem = z.output<typeof BatchItem>

export const BulkEmail = z
  .object({
    ...common,
    to: z.array(written).min(1).max(100),
    cc: z.never('Not supported here: each recipient receives a separate message.').optional(),
    bcc: z.never('Not supported here: each recipient receives a separate message.').optional(),
    attachments: z
      .array(z.union([RemoteAttachment, InlineAttachment]))
      .max(maxAttachments)
      .default([]),
    variables: VariablesShape.optional(),
    ...notInBatch,
  })
  .superRefine(isSendable)
  .meta({ id: 'BulkEmail' })
export type BulkEmail = z.output<typeof BulkEmail>

const instant = z.iso.datetime()
const statuses = ['scheduled', 'sending', 'sent', 'delivered', 'bounced', 'failed', 'canceled'] as const

export const AcceptedEmail = z
  .strictObject({
    id: z.string(),
    channel: z.literal('email'),
    status: z.enum(['sent', 'scheduled']),
    created_at: instant,
    scheduled_at: instant.optional(),
  })
  .meta({ id: 'EmailAccepted' })

export const Canceled = z
  .strictObject({
    id: z.string(),
    channel: z.literal('email'),
    status: z.literal('canceled'),
    canceled_at: instant,
  })
  .meta({ id: 'EmailCanceled' })

export const EmailItem = z
  .strictObject({
    id: z.string(),
    channel: z.literal('email'),
    status: z.enum(statuses),
    from: z.string(),
    to: z.string().nullable(),
    subject: z.string().nullable(),
    created_at: instant,
    sent_at: instant.nullable(),
    delivered_at: instant.nullable(),
  })
  .meta({ id: 'EmailListItem' })

const stringMap = z.record(z.string(), z.string())

export const Email = z
  .strictObject({
    id: z.string(),
    channel: z.literal('email'),
    status: z.enum(statuses),
    stream: z.enum(['transactional', 'broadcast']),
    from: z.string(),
    from_name: z.string().nullable(),
    to: z.array(z.string()),
    cc: z.array(z.string()),
    bcc: z.array(z.string()),
    reply_to: z.array(z.string()),
    subject: z.string().nullable(),
    headers: stringMap,
    attachments: z.array(z.strictObject({ filename: z.string(), content_type: z.string() })),
    track_opens: z.boolean(),
    track_clicks: z.boolean(),
    tags: z.array(z.string()),
    metadata: stringMap,
    created_at: instant,
    scheduled_at: instant.nullable(),
    sent_at: instant.nullable(),
    delivered_at: instant.nullable(),
    canceled_at: instant.nullable(),
    redacted_at: instant.nullable(),
    error_message: z.string().nullable(),
    provider_response: z
      .strictObject({
        message_id: z.string().nullable(),
        token: z.string().nullable(),
        bounce_type: z.string().nullable(),
        bounce_subtype: z.string().nullable(),
        detail: z.string().nullable(),
      })
      .nullable(),
    status_history: z.array(
      z.strictObject({
        status: z.enum(statuses),
        at: instant,
        recipient: z.string().nullable(),
        detail: z.string().nullable(),
      }),
    ),
    job_id: z.string().nullable(),
    tenant_id: z.string().nullable(),
    html: z.string().nullable().optional(),
    text: z.string().nullable().optional(),
  })
  .meta({ id: 'Email' })

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

export const statusFilter = z.enum(statuses)
