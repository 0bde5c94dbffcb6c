import { z } from 'zod'
import { comparableAddress } from '../../platform/ground/mailbox.ts'
import { inboundKinds } from './keywords.ts'

/** In a filter. Compared like stored values. A plus sign that is not encoded in a URL arrives as a space. */
export const inboundAddress = z
  .string()
  .max(320)
  .transform((text) => text.replace(/^ /, '+'))
  .transform((text) => comparableAddress(text) ?? text.toLowerCase())

const at = z.iso.datetime()
const kind = z
  .enum(inboundKinds)
  .describe('`opt_out` for STOP and the like, `help` for HELP and INFO, and `reply` for every other message.')
const tenant_id = z
  .string()
  .nullable()
  .describe('The tenant that it belongs to: that of the message it answers, or else that of the number or domain.')
const received_at = at.describe('When the provider received it.')
const created_at = at.describe('When it was stored.')

const smsExample = {
  id: 'ism_01k5w3v8q6e9rbx2t7m4n0c1yz',
  channel: 'sms',
  from: '+14155550100',
  to: '+14155550999',
  body: 'stop texting me',
  media_url: [],
  kind: 'opt_out',
  keyword: 'STOP',
  in_reply_to: 'msg_01k5w3v8q6e9rbx2t7m4n0c1yz',
  tenant_id: null,
  received_at: '2026-01-15T12:00:00.000Z',
  created_at: '2026-01-15T12:00:00.200Z',
} as const

const emailExample = {
  id: 'iem_01k5w3v8q6e9rbx2t7m4n0c1yz',
  channel: 'email',
  from: 'ann@example.com',
  to: ['help@mail.example.com'],
  subject: 'A question',
  text: 'Hello?',
  html: null,
  attachments: [
    {
      filename: 'photo.png',
      content_type: 'image/png',
      size: 2048,
      url: '/api/v1/inbound/iem_01k5w3v8q6e9rbx2t7m4n0c1yz/attachments/0',
    },
  ],
  kind: 'reply',
  in_reply_to: null,
  tenant_id: null,
  received_at: '2026-01-15T12:00:00.000Z',
  created_at: '2026-01-15T12:00:00.200Z',
} as const

export const InboundSmsItem = z
  .strictObject({
    id: z.string().describe('The id of the text message.'),
    channel: z.literal('sms').describe('`sms` for a text message.'),
    from: z.string().describe('The number that sent it, in E.164 format if it has that form.'),
    to: z.string().describe('The number that received it.'),
    body: z.string().nullable().describe('The text. `null` after its content was redacted.'),
    media_url: z.array(z.string()).describe('The URLs of its media. Empty after its content was redacted.'),
    kind,
    keyword: z.string().nullable().describe('The keyword that decided `kind`, in upper case. `null` for a reply.'),
    in_reply_to: z
      .string()
      .nullable()
      .describe('The id of your last message from that number to the sender, or `null`.'),
    tenant_id,
    received_at,
    created_at,
  })
  .meta({ id: 'InboundSms', examples: [smsExample] })

const InboundAttachment = z
  .strictObject({
    filename: z.string().nullable().describe('The name of the file, or `null`.'),
    content_type: z.string().describe('The media type.'),
    size: z.int().describe('The size in bytes.'),
    url: z.string().nullable().describe('The path that returns its content. `null` after the content was redacted.'),
  })
  .meta({ id: 'InboundAttachment' })

export const InboundEmailItem = z
  .strictObject({
    id: z.string().describe('The id of the email.'),
    channel: z.literal('email').describe('`email` for an email.'),
    from: z.string().describe('The address that sent it, in lower case.'),
    to: z.array(z.string()).describe('The addresses in To, in lower case, and those that got a blind copy here.'),
    subject: z.string().nullable().describe('The subject, or `null`.'),
    text: z.string().nullable().describe('The plain text body, or `null`. Cut after 65,536 characters in lists.'),
    html: z.string().nullable().describe('The HTML body, or `null`. Cut after 65,536 characters in lists.'),
    attachments: z.array(InboundAttachment).describe('Its attachments, at most 100.'),
    kind,
    in_reply_to: z.string().nullable().describe('The In-Reply-To header, or `null`.'),
    tenant_id,
    received_at,
    created_at,
  })
  .meta({ id: 'InboundEmail', examples: [emailExample] })

export const InboundItem = z
  .discriminatedUnion('channel', [InboundSmsItem, InboundEmailItem])
  .meta({ id: 'InboundMessage', examples: [smsExample, emailExample] })

const DetailAttachment = InboundAttachment.extend({
  content_id: z.string().nullable().describe('By which the HTML refers to it, or `null`.'),
}).meta({ id: 'InboundDetailAttachment' })

/** One message in the dashboard. */
export const InboundDetailItem = z
  .discriminatedUnion('channel', [
    InboundSmsItem,
    InboundEmailItem.extend({ attachments: z.array(DetailAttachment) }).meta({ id: 'InboundEmailDetail' }),
  ])
  .meta({ id: 'InboundDetail' })
