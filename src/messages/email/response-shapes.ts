/** The schemas of emails in responses. */
import { z } from 'zod'
import {
  exampleInstant,
  exampleMessageId,
  HistoryShape,
  instant,
  ProviderResponseShape,
  statusFilter,
  stringMap,
} from '../shapes.ts'

const named = {
  id: z.string().describe('The id of the email, such as `msg_…`.'),
  channel: z.literal('email').describe('Always `email`.'),
}
const status = statusFilter.describe(
  'The state of the email. `sent` means that the provider accepted it, `delivered` that the recipient did.',
)
const createdAt = instant.describe('When the email was accepted.')
const sentAt = instant.nullable().describe('When the provider accepted the email, or `null`.')
const deliveredAt = instant.nullable().describe('When the email was delivered, or `null`.')

export const AcceptedEmail = z
  .strictObject({
    ...named,
    status: z.enum(['sent', 'scheduled']).describe('`scheduled` if the email is sent later.'),
    created_at: createdAt,
    scheduled_at: instant.optional().describe('When the email will be sent. Present only if it is scheduled.'),
  })
  .meta({
    id: 'EmailAccepted',
    examples: [{ id: exampleMessageId, channel: 'email', status: 'sent', created_at: exampleInstant }],
  })

export const Canceled = z
  .strictObject({
    ...named,
    status: z.literal('canceled').describe('Always `canceled`.'),
    canceled_at: instant.describe('When the email was canceled.'),
  })
  .meta({
    id: 'EmailCanceled',
    examples: [{ id: exampleMessageId, channel: 'email', status: 'canceled', canceled_at: exampleInstant }],
  })

export const EmailItem = z
  .strictObject({
    ...named,
    status,
    from: z.string().describe('The address of the sender.'),
    to: z.string().nullable().describe('The first recipient. `null` if the email was redacted.'),
    subject: z.string().nullable().describe('The subject. `null` if the email was redacted.'),
    created_at: createdAt,
    sent_at: sentAt,
    delivered_at: deliveredAt,
  })
  .meta({
    id: 'EmailListItem',
    examples: [
      {
        id: exampleMessageId,
        channel: 'email',
        status: 'sent',
        from: 'hello@example.test',
        to: 'ada@example.com',
        subject: 'Your order',
        created_at: exampleInstant,
        sent_at: exampleInstant,
        delivered_at: null,
      },
    ],
  })

const addresses = z.array(z.string())

const exampleEmail = {
  id: exampleMessageId,
  channel: 'email',
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
  sent_at: exampleInstant,
  delivered_at: null,
  canceled_at: null,
  redacted_at: null,
  error_message: null,
  provider_response: {
    message_id: '010001947c2f4b1e-7d8c4f52-000000',
    token: null,
    bounce_type: null,
    bounce_subtype: null,
    detail: null,
  },
  status_history: [{ status: 'sent', at: exampleInstant, recipient: null, detail: null }],
  job_id: null,
  tenant_id: null,
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
    tags: z.array(z.string()).describe('Your labels.'),
    metadata: stringMap.describe('Your own texts.'),
    created_at: createdAt,
    scheduled_at: instant.nullable().describe('When a scheduled email is sent, or `null`.'),
    sent_at: sentAt,
    delivered_at: deliveredAt,
    canceled_at: instant.nullable().describe('When the email was canceled, or `null`.'),
    redacted_at: instant.nullable().describe('When the content and recipients were removed, or `null`.'),
    error_message: z.string().nullable().describe('Why the email failed, or `null`.'),
    provider_response: ProviderResponseShape.nullable().describe('What the provider reported, or `null`.'),
    status_history: z.array(HistoryShape).describe('The statuses of the email and reports about it, oldest first.'),
    job_id: z.string().nullable().describe('The job that sent the email, or `null`.'),
    tenant_id: z.string().nullable().describe('The tenant of the email, or `null`.'),
    html: z.string().nullable().optional().describe('The rendered HTML body. Present only with `include=body`.'),
    text: z.string().nullable().optional().describe('The rendered plain text body. Present only with `include=body`.'),
  })
  .meta({
    id: 'Email',
    examples: [exampleEmail, { ...exampleEmail, html: '<p>It is on its way.</p>', text: 'It is on its way.' }],
  })
