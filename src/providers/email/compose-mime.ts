/** Writes a mail as the RFC 5322 message that goes over the wire, and says whom the envelope names. */
import { domainToASCII } from 'node:url'
import MailComposer from 'nodemailer/lib/mail-composer'
import type { Address, Attachment, Mail } from './email-provider.ts'
import { headerLines, isOwnHeader, oneLine, subjectLines } from './mail-headers.ts'

const isFieldName = (name: string): boolean => /^[\x21-\x39\x3b-\x7e]{1,126}$/.test(name)

/** Lone line ends would become others on the way, and what is signed must arrive as it was signed. */
const lines = (text: string): string => text.toWellFormed().replace(/\r\n|\r|\n/g, '\r\n')

const isAscii = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
  /^[\x00-\x7f]*$/.test(text)

const split = (address: string): [local: string, domain: string] => {
  const at = address.lastIndexOf('@')
  return [address.slice(0, at), address.slice(at + 1)]
}

const asciiDomain = (domain: string): string => domainToASCII(domain) || domain

/**
 * The address as it goes over the wire: the domain in its ASCII form, which every server takes. Where the local
 * part is not ASCII the whole address needs SMTPUTF8 anyway and stays as it is.
 */
export const wireAddress = (address: string): string => {
  const [local, domain] = split(address)
  return address.includes('@') && isAscii(local) ? `${local}@${asciiDomain(domain)}` : address
}

export type MailEnvelope = {
  from: string
  /** Every recipient once, by the address on the wire; the addresses as the mail has them. */
  to: Map<string, string>
  /** An address has a local part that only a server with SMTPUTF8 takes. */
  needsUtf8: boolean
}

export const mailEnvelopeOf = (mail: Mail): MailEnvelope => {
  const from = wireAddress(mail.returnPath ?? mail.from.address)
  const to = new Map<string, string>()
  for (const { address } of [...mail.to, ...mail.cc, ...mail.bcc]) {
    const wire = wireAddress(address)
    if (!to.has(wire)) to.set(wire, address)
  }
  // The header names more than the envelope does, and it must be readable on the way as well.
  const named = [from, mail.from.address, ...to.keys(), ...mail.replyTo.map(({ address }) => address)]
  return { from, to, needsUtf8: named.some((address) => !isAscii(wireAddress(address))) }
}

/** The composer would fold a gap as long as a line into a line of spaces, which some take for the end of the header. */
const label = (text: string): string =>
  oneLine(text)
    .trim()
    .replace(/ {50,}/g, ' ')

/** One of ASCII stands in quotes, with quotes and backslashes escaped, and is left out if no line can hold it so. */
const displayName = (given: string): string => {
  const name = label(given)
  const escaped = /^[ -~]{490,}$/.test(name) ? name.replace(/["\\]/g, '\\$&') : ''
  return /[^ ]{990}/.test(escaped) ? '' : name
}

// Long headers are folded at spaces of every script, and a line goes on only after one of ASCII.
const party = ({ address, name }: Address) => ({
  address: wireAddress(oneLine(address).replace(/\s/g, ' ')),
  name: displayName(name ?? ''),
})

/** Lines of a part that is sent as it is: ASCII and short enough for every server. */
const fitsOnTheWire = (content: Buffer): boolean => {
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
 * What is no media type, and what would open a level of parts of its own, goes as plain bytes. A message may not
 * be encoded (RFC 2046), so one that cannot go as it is goes as plain bytes too.
 */
const safeType = ({ contentType, content }: Attachment): string => {
  const unfit = !mediaType.test(contentType) || /^multipart\//i.test(contentType)
  const raw = /^message\//i.test(contentType) && !fitsOnTheWire(content)
  return unfit || raw ? 'application/octet-stream' : contentType
}

const attached = (attachment: Attachment) => ({
  filename: label(attachment.filename) || 'attachment',
  contentType: safeType(attachment),
  contentDisposition: 'attachment',
  content: /^message\//i.test(safeType(attachment))
    ? Buffer.from(lines(attachment.content.toString('latin1')), 'latin1')
    : attachment.content,
})

const callersHeaders = (mail: Mail): [name: string, value: string][] =>
  Object.entries(mail.headers).filter(([name]) => isFieldName(name) && !isOwnHeader(name))

/** @param extra Headers of the adapter itself, such as those its vendor reads. */
export const composeMime = async (mail: Mail, extra: Record<string, string> = {}): Promise<Buffer> => {
  const [, domain] = split(mail.from.address)
  const headers: [string, string][] = [
    ...callersHeaders(mail),
    ['X-Service-Message-Id', mail.messageId],
    ...Object.entries(extra),
  ]
  const composer = new MailComposer({
    from: party(mail.from),
    to: mail.to.map(party),
    cc: mail.cc.map(party),
    replyTo: mail.replyTo.map(party),
    messageId: `<${mail.messageId}@${asciiDomain(domain)}>`,
    date: mail.at,
    // Without either part the message is an empty text.
    ...(mail.text !== null && { text: lines(mail.text) }),
    ...(mail.html !== null && { html: lines(mail.html) }),
    attachments: mail.attachments.map(attached),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const message = composer.compile()
  const composed = message.buildHeaders.bind(message)
  // The composer would encode every value with a quote in it, and write names in a case of its own.
  const ours = [...headers.map(([name, value]) => headerLines(name, value)), subjectLines(mail.subject)]
  message.buildHeaders = () => [...ours.filter((line) => line !== ''), composed()].join('\r\n')
  return message.build()
}
