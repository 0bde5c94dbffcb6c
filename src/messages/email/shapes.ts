import { z } from 'zod'
import { domainPart, parseMailbox } from '../../ground/mailbox.ts'
import type { Address } from '../../providers/email/email-provider.ts'
import { isOwnHeader } from '../../providers/email/mail-headers.ts'
import { VariablesShape } from '../../templates/variables.ts'
import { contentTypeOf } from './content-type.ts'

const notAnAddress = (context: z.RefinementCtx): never => {
  context.addIssue({
    code: 'invalid_format',
    format: 'email',
    message: 'Takes an email address, with or without a name.',
  })
  return z.NEVER
}

/** Stands for a `from` without a domain, until the first gate tells of it. */
export const noSender: Address = { address: '', name: null }

/** A display name and an address together. */
export const longestWritten = 1_000

const asWritten = {
  description: '`ada@example.com` or `Ada Lovelace <ada@example.com>`.',
  examples: ['ada@example.com', 'Ada Lovelace <ada@example.com>'],
}

const written = z
  .string()
  .max(longestWritten)
  .transform((text, context): Address => {
    return parseMailbox(text) ?? notAnAddress(context)
  })
  .meta(asWritten)

/** A list, or one address taken as a list of one. */
const addressList = (max: number) =>
  z.union([z.array(written).max(max), written.transform((address) => [address]).meta(asWritten)]).default([])

const oneLine = /^[^\r\n]*$/

export const maxHeaders = 50

/** Counted before it is looked into: a map of a million keys would cost seconds to be told that it is too large. */
const smallMap = <M extends z.ZodType>(what: string, map: M) =>
  z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length <= maxHeaders) return value
    context.addIssue({ code: 'custom', message: `Takes at most ${maxHeaders} ${what}.` })
    return z.NEVER
  }, map)

export const HeaderName = z
  .string()
  .regex(/^[!-9;-~]{1,126}$/, 'Takes 1 to 126 printable ASCII characters without colon or space.')
  .refine((name) => !isOwnHeader(name), 'This header is for the service to write.')
  .meta({ examples: ['X-Order'] })

export const HeaderValue = z.string().max(2_000).regex(oneLine, 'Takes no line breaks.')

/** In whatever case: two lines of one name would leave it to each reader which of them counts. */
const namedOnce = (given: Record<string, string>, context: z.RefinementCtx): void => {
  const seen = new Set<string>()
  for (const name of Object.keys(given)) {
    if (seen.has(name.toLowerCase())) {
      context.addIssue({ code: 'custom', path: [name], message: 'Given more than once, in another case.' })
    }
    seen.add(name.toLowerCase())
  }
}

const headers = smallMap('headers', z.record(HeaderName, HeaderValue).superRefine(namedOnce)).default({})

const notBase64 = /[^A-Za-z0-9+/]/

/** Without backtracking: a file of many megabytes is one of the things this is asked about. */
const isBase64 = (text: string): boolean => {
  const bare = text.endsWith('==') ? text.slice(0, -2) : text.endsWith('=') ? text.slice(0, -1) : text
  const padded = bare.length !== text.length
  return !notBase64.test(bare) && bare.length % 4 !== 1 && (!padded || text.length % 4 === 0)
}

const filename = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^/\\\p{Cc}]*$/u, 'Takes a name without path separators.')
  .meta({ examples: ['invoice.pdf'] })

const contentType = z
  .string()
  .max(255)
  .regex(/^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*(?: *;[ -~]*)?$/i, 'Takes a media type.')
  .meta({ examples: ['application/pdf'] })
  .optional()

const Inline = z.object({
  filename,
  content: z
    .string()
    .refine(isBase64, 'Takes base64.')
    .transform((text) => Buffer.from(text, 'base64'))
    .meta({ description: 'In base64.', examples: ['SGVsbG8='] }),
  content_type: contentType,
})

const attachment = Inline.transform((given) => ({
  filename: given.filename,
  content: given.content,
  contentType: given.content_type ?? contentTypeOf(given.filename),
})).meta({ id: 'Attachment' })

const linked = z
  .object({
    filename,
    url: z
      .url({ protocol: /^https$/ })
      .max(2_048)
      .meta({ examples: ['https://example.com/invoice.pdf'] }),
    content_type: contentType,
  })
  .transform((given) => ({
    filename: given.filename,
    url: given.url,
    contentType: given.content_type ?? contentTypeOf(given.filename),
  }))
  .meta({ id: 'LinkedAttachment' })

export const longestTag = 128
export const maxTags = 10
const tags = z.array(z.string().min(1).max(longestTag)).max(maxTags).default([])

export const longestValue = 2_048
const metadata = smallMap('keys', z.record(z.string().min(1).max(longestTag), z.string().max(longestValue))).default({})

/** What one line of a message may hold. */
export const longestSubject = 998
const subject = z
  .string()
  .max(longestSubject)
  .regex(oneLine, 'Takes no line breaks.')
  .meta({ examples: ['Your invoice'] })
  .optional()

const common = {
  from: z
    .string()
    .max(longestWritten)
    .transform((text, context): Address => {
      const address = parseMailbox(text)
      if (address) return address
      // One without a domain has a code of its own, which no schema can give.
      if (domainPart(text) === '') return noSender
      return notAnAddress(context)
    })
    .meta({
      description: 'An address on a verified domain of the org.',
      examples: ['Acme <hello@example.com>'],
    }),
  subject,
  html: z
    .string()
    .meta({ examples: ['<p>It is attached.</p>'] })
    .optional(),
  text: z
    .string()
    .meta({ examples: ['It is attached.'] })
    .optional(),
  stream: z.enum(['transactional', 'broadcast']).default('transactional'),
  reply_to: addressList(10),
  headers,
  tags,
  metadata,
  track_opens: z.boolean().default(false),
  track_clicks: z.boolean().default(false),
}

/** In each of To, Cc and Bcc. */
export const maxRecipients = 50

const recipients = {
  to: z.array(written).min(1).max(maxRecipients),
  cc: addressList(maxRecipients),
  bcc: addressList(maxRecipients),
}

const inline = z.array(attachment).max(10).default([])

type Said = { subject?: string | undefined; html?: string | undefined; text?: string | undefined }

/** There is something to say, or a template that may supply it. */
const saysSomething = (body: Said & { template?: string | undefined }, context: z.RefinementCtx): void => {
  if (body.template !== undefined) return
  const missing = (path: keyof Said, message: string) =>
    context.addIssue({ code: 'invalid_type', expected: 'string', input: undefined, path: [path], message })
  if (!body.subject) missing('subject', 'Required unless the template supplies it.')
  if (!body.html && !body.text) missing('html', 'Takes html, text or both.')
}

export const SendEmail = z
  .object({
    ...common,
    ...recipients,
    attachments: inline,
    template: z.string().min(1).max(64).optional().meta({ description: 'The slug of a template.' }),
    variables: VariablesShape.default({}),
    scheduled_at: z.iso
      .datetime({ offset: true })
      .transform((text) => new Date(text))
      .optional(),
  })
  .superRefine(saysSomething)
  .meta({ id: 'SendEmail' })
export type SendEmail = z.output<typeof SendEmail>

/** Fields that would change what or when is sent, and that no batch knows: refused rather than ignored. */
const notInBatch = {
  template: z.never('Not supported in a batch.').optional(),
  scheduled_at: z.never('Not supported in a batch.').optional(),
}

export const BatchItem = z
  .object({ ...common, ...recipients, attachments: inline, variables: VariablesShape.optional(), ...notInBatch })
  .superRefine(saysSomething)
  .meta({ id: 'EmailBatchItem' })
export type BatchItem = z.output<typeof BatchItem>

export const BulkEmail = z
  .object({
    ...common,
    to: z.array(written).min(1).max(100),
    cc: z.never('Not supported here: each recipient has an envelope of its own.').optional(),
    bcc: z.never('Not supported here: each recipient has an envelope of its own.').optional(),
    attachments: z
      .array(z.union([linked, attachment]))
      .max(10)
      .default([]),
    variables: VariablesShape.optional(),
    ...notInBatch,
  })
  .superRefine(saysSomething)
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

export const BatchAnswer = z
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
