/** A mail as JSON, without what must not be kept, and back again. */
import { iso } from '../../ground/instant.ts'
import type { Mail } from './contract.ts'

/** Attachments in base64; no key to sign with. */
export type KeptMail = Omit<Mail, 'at' | 'attachments' | 'dkim'> & {
  at: string
  attachments: { filename: string; contentType: string; content: string }[]
  /** Every address, in lower case. */
  recipients: string[]
}

export const recipientsOf = ({ to, cc, bcc }: Mail): string[] =>
  [...to, ...cc, ...bcc].map(({ address }) => address)

export const keptFrom = (mail: Mail): KeptMail => ({
  orgId: mail.orgId,
  messageId: mail.messageId,
  from: mail.from,
  to: mail.to,
  cc: mail.cc,
  bcc: mail.bcc,
  replyTo: mail.replyTo,
  subject: mail.subject,
  html: mail.html,
  text: mail.text,
  headers: mail.headers,
  attachments: mail.attachments.map(({ filename, contentType, content }) => ({
    filename,
    contentType,
    content: content.toString('base64'),
  })),
  at: iso(mail.at),
  returnPath: mail.returnPath,
  region: mail.region,
  ipPool: mail.ipPool,
  recipients: recipientsOf(mail).map((address) => address.toLowerCase()),
})

export const mailFrom = ({ recipients: _, at, attachments, ...mail }: KeptMail): Mail => ({
  ...mail,
  at: new Date(at),
  attachments: attachments.map(({ filename, contentType, content }) => ({
    filename,
    contentType,
    content: Buffer.from(content, 'base64'),
  })),
  dkim: null,
})
