/** Converts a mail to JSON for the outbox and back. The DKIM key is not stored. */
import { iso } from '../../platform/ground/instant.ts'
import { nonEmpty } from '../../platform/ground/non-empty.ts'
import { type Attachment, blankMail, type Mail } from './email-provider.ts'

/** Fields that the mail does not set are left out. */
export type StoredMail = Pick<Mail, 'orgId' | 'messageId' | 'from' | 'to' | 'subject' | 'region'> & {
  [K in Exclude<keyof typeof blankMail, 'attachments' | 'dkim'>]?: Mail[K] | undefined
} & {
  at: string
  /** In base64. */
  attachments?: (Omit<Attachment, 'content'> & { content: string })[] | undefined
  /** Every address, in lower case. */
  recipients: string[]
}

export const recipientsOf = ({ to, cc, bcc }: Mail): string[] => [...to, ...cc, ...bcc].map(({ address }) => address)

export const toStored = (mail: Mail): StoredMail => ({
  orgId: mail.orgId,
  messageId: mail.messageId,
  from: mail.from,
  to: mail.to,
  cc: nonEmpty(mail.cc),
  bcc: nonEmpty(mail.bcc),
  replyTo: nonEmpty(mail.replyTo),
  subject: mail.subject,
  html: mail.html ?? undefined,
  text: mail.text ?? undefined,
  headers: Object.keys(mail.headers).length === 0 ? undefined : mail.headers,
  attachments: nonEmpty(
    mail.attachments.map(({ content, ...named }) => ({ ...named, content: content.toString('base64') })),
  ),
  at: iso(mail.at),
  returnPath: mail.returnPath ?? undefined,
  region: mail.region,
  ipPool: mail.ipPool ?? undefined,
  recipients: recipientsOf(mail).map((address) => address.toLowerCase()),
})

export const fromStored = ({ recipients: _, at, attachments = [], ...mail }: StoredMail): Mail => ({
  ...blankMail,
  ...(mail as Omit<Mail, 'at' | 'attachments' | 'dkim'>),
  at: new Date(at),
  attachments: attachments.map(({ content, ...named }) => ({ ...named, content: Buffer.from(content, 'base64') })),
})
