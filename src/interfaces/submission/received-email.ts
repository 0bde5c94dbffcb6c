/** Converts a parsed message to an email that the service has received. */
import type { ReceivedEmail } from '../../sending/inbound/take-email.ts'
import { bareContentId, type Mailbox, type ParsedMail } from './parsed-mail.ts'

const addresses = (mailboxes: Mailbox[]): string[] => mailboxes.map(({ address }) => address)

const headerOf = ({ headers }: ParsedMail, wanted: string): string | null =>
  headers.find(({ name }) => name.toLowerCase() === wanted)?.value.trim() || null

export const receivedEmailOf = (
  mail: ParsedMail,
  arrival: Pick<ReceivedEmail, 'provider' | 'recipients' | 'spamVerdict' | 'at'>,
): ReceivedEmail => ({
  ...arrival,
  from: mail.from[0]?.address ?? '',
  to: addresses(mail.to),
  cc: addresses(mail.cc),
  subject: mail.subject ?? null,
  text: mail.text ?? null,
  html: mail.html ?? null,
  messageId: headerOf(mail, 'message-id'),
  inReplyTo: headerOf(mail, 'in-reply-to'),
  date: headerOf(mail, 'date'),
  attachments: mail.attachments.map((file) => ({
    filename: file.filename ?? null,
    content_type: file.type,
    size: file.content.byteLength,
    content_id: bareContentId(file) || null,
    content: file.content,
  })),
})
