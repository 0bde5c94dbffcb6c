/** Parses the notifications of Amazon SES about received email, which arrive through SNS. */
import { z } from 'zod'
import { firstTime, parseShape } from './sns-intake.ts'

export type SesReceived = {
  recipients: string[]
  /** The email. Undefined when the receipt rule stores it elsewhere; then only these headers are known. */
  raw: Buffer | undefined
  headers: { from: string; to: string[]; cc: string[]; subject: string | null; messageId: string | null }
  spamVerdict: string | null
  at: Date
}

const address = z.string().max(2_000)
const addresses = z.array(address).max(1_000).default([])

const ReceivedNotification = z.object({
  notificationType: z.literal('Received'),
  mail: z.object({
    source: address.nullish(),
    commonHeaders: z
      .object({
        from: addresses,
        to: addresses,
        cc: addresses,
        subject: z.string().nullish(),
        messageId: z.string().nullish(),
      })
      .partial()
      .default({}),
  }),
  receipt: z.object({
    timestamp: z.string().optional(),
    recipients: z.array(address).min(1).max(1_000),
    spamVerdict: z.object({ status: z.string().max(100) }).optional(),
    action: z.object({ encoding: z.string().max(100).nullish() }).optional(),
  }),
  content: z.string().nullish(),
})

export const parseSesReceived = parseShape(ReceivedNotification, ({ mail, receipt, content }, message): SesReceived => {
  const { from = [], to = [], cc = [], subject = null, messageId = null } = mail.commonHeaders
  return {
    recipients: receipt.recipients,
    raw: content
      ? Buffer.from(content, receipt.action?.encoding?.toUpperCase() === 'BASE64' ? 'base64' : 'utf8')
      : undefined,
    headers: { from: from[0] ?? mail.source ?? '', to, cc, subject, messageId },
    spamVerdict: receipt.spamVerdict?.status.toLowerCase() ?? null,
    at: firstTime(receipt.timestamp, message.Timestamp),
  }
})
