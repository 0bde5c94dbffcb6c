/** Serializes a mail as an RFC 5322 message, and derives its SMTP envelope. */
import { domainToASCII } from 'node:url'
import MailComposer from 'nodemailer/lib/mail-composer'
import type { Address, Attachment, Mail } from './email-provider.ts'
import { headerLines, isReservedHeader, oneLine, subjectLines } from './mail-headers.ts'

const isFieldName = (name: string): boolean => /^[\x21-\x39\x3b-\x7e]{1,126}$/.test(name)

/** Servers rewrite lone CR and LF in transit, which would break a signature. */
const crlfLines = (text: string): string => text.toWellFormed().replace(/\r\n|\r|\n/g, '\r\n')

const isAscii = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is the ASCII range
  /^[\x00-\x7f]*$/.test(text)

const split = (address: string): [local: string, domain: string] => {
  const at = address.lastIndexOf('@')
  return [address.slice(0, at), address.slice(at + 1)]
}

const asciiDomain = (domain: string): string => domainToASCII(domain) || domain

/**
 * The address with its domain in ASCII form, which every server accepts. An address whose local part is not ASCII
 * needs SMTPUTF8 anyway and stays unchanged.
 */
export const wireAddress = (address: string): string => {
  const [local, domain] = split(address)
  return address.includes('@') && isAscii(local) ? `${local}@${asciiDomain(domain)}` : address
}

export type MailEnvelope = {
  from: string
  /** Recipients without duplicates: the wire address mapped to the address in the mail. */
  to: Map<string, string>
  /** An address has a local part that requires SMTPUTF8. */
  needsUtf8: boolean
}

export const mailEnvelopeOf = (mail: Mail): MailEnvelope => {
  const from = wireAddress(mail.returnPath ?? mail.from.address)
  const to = new Map<string, string>()
  for (const { address } of [...mail.to, ...mail.cc, ...mail.bcc]) {
    const wire = wireAddress(address)
    if (!to.has(wire)) to.set(wire, address)
  }
  // Addresses in headers count too, because the headers are sent with the same encoding.
  const used = [from, mail.from.address, ...to.keys(), ...mail.replyTo.map(({ address }) => address)]
  return { from, to, needsUtf8: used.some((address) => !isAscii(wireAddress(address))) }
}

/** Shortens long runs of spaces: the composer would fold them into a blank line, which can end the header section. */
const label = (text: string): string =>
  oneLine(text)
    .trim()
    .replace(/ {50,}/g, ' ')

/** The composer quotes and escapes ASCII names. A name that does not fit on a line in that form is left out. */
const displayName = (text: string): string => {
  const name = label(text)
  const escaped = /^[ -~]{490,}$/.test(name) ? name.replace(/["\\]/g, '\\$&') : ''
  return /[^ ]{990}/.test(escaped) ? '' : name
}

// The composer folds long headers at any Unicode space, but a continuation line must start with an ASCII space.
const mailbox = ({ address, name }: Address) => ({
  address: wireAddress(oneLine(address).replace(/\s/g, ' ')),
  name: displayName(name ?? ''),
})

/** Whether content can be sent without encoding: ASCII, in lines short enough for every server. */
const isSendableUnencoded = (content: Buffer): boolean => {
  let length = 0
  for (const byte of content) {
    if (byte === 0 || byte > 0x7f) return false
    length = byte === 0x0a || byte === 0x0d ? 0 : length + 1
    if (length > 998) return false
  }
  return true
}

const token = "[a-z0-9!#$&^_.+'*%`{|}~-]+"
const mediaType = new RegExp(`^${token}/${token}(\\s*;\\s*${token}=(${token}|"[^"\\\\\\x00-\\x1f\\x7f]*"))*$`, 'i')

/**
 * Invalid media types, and multipart types, which would add a level of parts, become application/octet-stream. So do
 * messages that need encoding, because a message part must not be encoded (RFC 2046).
 */
const safeType = ({ contentType, content }: Attachment): string => {
  const isInvalid = !mediaType.test(contentType) || /^multipart\//i.test(contentType)
  const needsEncoding = /^message\//i.test(contentType) && !isSendableUnencoded(content)
  return isInvalid || needsEncoding ? 'application/octet-stream' : contentType
}

const attached = (attachment: Attachment) => ({
  filename: label(attachment.filename) || 'attachment',
  contentType: safeType(attachment),
  contentDisposition: 'attachment',
  content: /^message\//i.test(safeType(attachment))
    ? Buffer.from(crlfLines(attachment.content.toString('latin1')), 'latin1')
    : attachment.content,
})

const callerHeaders = (mail: Mail): [name: string, value: string][] =>
  Object.entries(mail.headers).filter(([name]) => isFieldName(name) && !isReservedHeader(name))

/** @param extra Headers that the provider adds, such as those its vendor reads. */
export const composeMime = async (mail: Mail, extra: Record<string, string> = {}): Promise<Buffer> => {
  const [, domain] = split(mail.from.address)
  const headers: [string, string][] = [
    ...callerHeaders(mail),
    ['X-Service-Message-Id', mail.messageId],
    ...Object.entries(extra),
  ]
  const composer = new MailComposer({
    from: mailbox(mail.from),
    to: mail.to.map(mailbox),
    cc: mail.cc.map(mailbox),
    replyTo: mail.replyTo.map(mailbox),
    messageId: `<${mail.messageId}@${asciiDomain(domain)}>`,
    date: mail.at,
    // A message with neither text nor HTML is an empty text.
    ...(mail.text !== null && { text: crlfLines(mail.text) }),
    ...(mail.html !== null && { html: crlfLines(mail.html) }),
    attachments: mail.attachments.map(attached),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const message = composer.compile()
  const buildComposerHeaders = message.buildHeaders.bind(message)
  // Written here, because the composer encodes every value that contains a quote and changes the case of names.
  const textHeaders = [...headers.map(([name, value]) => headerLines(name, value)), subjectLines(mail.subject)]
  message.buildHeaders = () => [...textHeaders.filter((line) => line !== ''), buildComposerHeaders()].join('\r\n')
  return message.build()
}
