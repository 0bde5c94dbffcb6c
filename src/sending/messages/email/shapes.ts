import { z } from 'zod'
import { patternText } from '../../../platform/ground/bounded-text.ts'
import { domainPart, parseMailbox } from '../../../platform/ground/mailbox.ts'
import type { Address } from '../../../providers/email/email-provider.ts'
import { isReservedHeader } from '../../../providers/email/mail-headers.ts'
import { VariablesShape, variablesText } from '../../templates/variables.ts'
import {
  batchVariables,
  customIssue,
  exampleInstant,
  exampleMessageId,
  exampleOutcome,
  exampleTimes,
  metadata,
  missingText,
  notInBatch,
  refusingOtherSends,
  responseFields,
  scheduledAt,
  smallMap,
  stringMap,
  tags,
  templateSlug,
} from '../shapes.ts'
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

const recipientsText = (field: string, max: number): string =>
  `The ${field} recipients: one address or a list of up to ${max}.`

const oneLine = /^[^\r\n]*$/

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
      customIssue(context, [name], 'Duplicate header: names that differ only in case are the same.')
    }
    seen.add(name.toLowerCase())
  }
}

const headers = smallMap('headers', z.record(HeaderName, HeaderValue).superRefine(namedOnce))
  .default({})
  .describe(
    'Up to 50 headers to add to the email. A value is one line of up to 2,000 characters. Headers that the service sets itself are refused.',
  )

/** The maximum length of a line in an email. */
export const maxSubjectLength = 998
const subject = z
  .string()
  .max(maxSubjectLength)
  .regex(oneLine, 'Must not contain line breaks.')
  .meta({
    description: 'The subject: one line of up to 998 characters. Required unless a template supplies it.',
    examples: ['Your invoice'],
  })
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
      description:
        'The sender, such as `hello@example.com` or `Acme <hello@example.com>`. The domain must be one of your verified domains.',
      examples: ['Acme <hello@example.com>'],
    }),
  subject,
  html: z
    .string()
    .meta({
      description: 'The HTML body. Provide `html`, `text` or both, unless a template supplies them.',
      examples: ['<p>It is attached.</p>'],
    })
    .optional(),
  text: z
    .string()
    .meta({
      description: 'The plain text body. If omitted, one is made from `html`. An empty text switches that off.',
      examples: ['It is attached.'],
    })
    .optional(),
  stream: z
    .enum(['transactional', 'broadcast'])
    .default('transactional')
    .describe(
      'The kind of email. A `broadcast` is not sent to recipients who unsubscribed, and gets an unsubscribe link.',
    ),
  reply_to: addressList(10).describe('Where replies go: one address or a list of up to 10.'),
  headers,
  tags,
  metadata,
  track_opens: z.boolean().default(false).describe('Whether to add a tracking pixel to `html`.'),
  track_clicks: z.boolean().default(false).describe('Whether to replace links in `html` with tracked links.'),
}

/** The maximum for each of To, Cc and Bcc. */
export const maxRecipients = 50

const recipients = {
  to: z.array(written).min(1).max(maxRecipients).describe(`The recipients, 1 to ${maxRecipients}.`),
  cc: addressList(maxRecipients).describe(recipientsText('Cc', maxRecipients)),
  bcc: addressList(maxRecipients).describe(recipientsText('Bcc', maxRecipients)),
}

const attachmentsText = 'Up to 10 files, together at most 7 MB after decoding. Files are never stored.'
const inline = z.array(InlineAttachment).max(maxAttachments).default([]).describe(attachmentsText)

type Said = { [Name in 'subject' | 'html' | 'text' | 'template']?: string | undefined }

/** Rules that concern several fields. A subject and content are required, unless a template may supply them. */
const isSendable = (body: Said & NamedAttachments, context: z.RefinementCtx): void => {
  if (body.template === undefined) {
    if (!body.subject) missingText(context, 'subject', 'Required unless the template supplies it.')
    if (!body.html && !body.text) missingText(context, 'html', 'Provide html, text or both.')
  }
  distinctContentIds(body, context)
}

const single = z.object({
  ...common,
  ...recipients,
  attachments: inline,
  template: templateSlug.describe('The slug of the template that supplies the parts that you omit.'),
  variables: VariablesShape.default({}).describe(variablesText),
  scheduled_at: scheduledAt.describe(
    'When to send the email, in ISO 8601 with an offset. Only for one recipient and without attachments. Sent immediately if you omit it.',
  ),
})

export const SendEmail = refusingOtherSends(single)
  .superRefine(isSendable)
  .meta({
    id: 'SendEmail',
    examples: [
      {
        from: 'Acme <hello@example.test>',
        to: ['Ada Lovelace <ada@example.com>'],
        subject: 'Your order',
        html: '<p>It is on its way.</p>',
        text: 'It is on its way.',
        tags: ['order'],
        metadata: { order: '17' },
      },
      {
        from: 'Acme <hello@example.test>',
        to: ['ada@example.com'],
        template: 'welcome',
        variables: { name: 'Ada' },
      },
    ],
  })
export type SendEmail = z.output<typeof SendEmail>

/** A message over SMTP, where the subject is optional and the text is always present. */
export const SubmittedEmail = single

export const BatchItem = refusingOtherSends(
  z.object({ ...common, ...recipients, attachments: inline, variables: batchVariables, ...notInBatch }),
)
  .superRefine(isSendable)
  .meta({ id: 'EmailBatchItem' })
export type BatchItem = z.output<typeof BatchItem>

const separate = 'Not supported here: each recipient receives a separate message.'
const notInBulk = z.never(separate).optional().describe(separate)

export const BulkEmail = refusingOtherSends(
  z.object({
    ...common,
    to: z.array(written).min(1).max(100).describe('1 to 100 recipients, who each receive a separate message.'),
    cc: notInBulk,
    bcc: notInBulk,
    attachments: z
      .array(z.union([RemoteAttachment, InlineAttachment]))
      .max(maxAttachments)
      .default([])
      .describe(`${attachmentsText} A file can have a \`url\` instead of \`content\`.`),
    variables: batchVariables,
    ...notInBatch,
  }),
)
  .superRefine(isSendable)
  .meta({ id: 'BulkEmail' })
export type BulkEmail = z.output<typeof BulkEmail>

const { named, status, acceptedStatus, accepted, canceled, times, labels, outcome } = responseFields({
  channel: 'email',
  noun: 'email',
  receiver: 'recipient',
  recipients: 'recipients',
})
const exampleNamed = { id: exampleMessageId, channel: 'email' }

export const AcceptedEmail = z
  .strictObject({ ...named, status: acceptedStatus, ...accepted })
  .meta({ id: 'EmailAccepted', examples: [{ ...exampleNamed, status: 'sent', created_at: exampleInstant }] })

const exampleCanceled = { ...exampleNamed, status: 'canceled', canceled_at: exampleInstant }
export const Canceled = canceled.meta({ id: 'EmailCanceled', examples: [exampleCanceled] })

export const EmailItem = z
  .strictObject({
    ...named,
    status,
    from: z.string().describe('The address of the sender.'),
    to: z.string().nullable().describe('The first recipient. `null` if the email was redacted.'),
    subject: z.string().nullable().describe('The subject. `null` if the email was redacted.'),
    ...times,
  })
  .meta({
    id: 'EmailListItem',
    examples: [
      {
        ...exampleNamed,
        status: 'sent',
        from: 'hello@example.test',
        to: 'ada@example.com',
        subject: 'Your order',
        ...exampleTimes,
      },
    ],
  })

const addresses = z.array(z.string())

const exampleEmail = {
  ...exampleNamed,
  status: 'sent',
  stream: 'transactional',
  from: 'hello@example.test',
  from_name: 'Acme',
  to: ['ada@example.com'],
  cc: [],
  bcc: [],
  reply_to: [],
  subject: 'Your order',
  headers: {},
  attachments: [],
  track_opens: false,
  track_clicks: false,
  tags: ['order'],
  metadata: { order: '17' },
  created_at: exampleInstant,
  scheduled_at: null,
  ...exampleOutcome('010001947c2f4b1e-7d8c4f52-000000'),
}

export const Email = z
  .strictObject({
    ...named,
    status,
    stream: z.enum(['transactional', 'broadcast']).describe('The kind of email.'),
    from: z.string().describe('The address of the sender.'),
    from_name: z.string().nullable().describe('The display name of the sender, or `null`.'),
    to: addresses.describe('The addresses of the To recipients.'),
    cc: addresses.describe('The addresses of the Cc recipients.'),
    bcc: addresses.describe('The addresses of the Bcc recipients.'),
    reply_to: addresses.describe('The addresses that replies go to.'),
    subject: z.string().nullable().describe('The subject. `null` if the email was redacted.'),
    headers: stringMap.describe('The headers that you added.'),
    attachments: z
      .array(
        z.strictObject({
          filename: z.string().describe('The name of the file.'),
          content_type: z.string().describe('The media type of the file.'),
        }),
      )
      .describe('The attached files. Their content is not stored.'),
    track_opens: z.boolean().describe('Whether opens are tracked.'),
    track_clicks: z.boolean().describe('Whether clicks are tracked.'),
    ...labels,
    ...outcome,
    html: z.string().nullable().optional().describe('The rendered HTML body. Present only with `include=body`.'),
    text: z.string().nullable().optional().describe('The rendered plain text body. Present only with `include=body`.'),
  })
  .meta({
    id: 'Email',
    examples: [exampleEmail, { ...exampleEmail, html: '<p>It is on its way.</p>', text: 'It is on its way.' }],
  })
