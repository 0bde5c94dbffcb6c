/** A mail as JSON, without what must not be kept, and back again. */
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

export const keptFrom = ({ dkim: _, at, attachments, ...mail }: Mail): KeptMail => ({
  ...mail,
  at: at.toISOString(),
  attachments: attachments.map(({ filename, contentType, content }) => ({
    filename,
    contentType,
    content: content.toString('base64'),
  })),
  recipients: [...mail.to, ...mail.cc, ...mail.bcc].map(({ address }) => address.toLowerCase()),
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
