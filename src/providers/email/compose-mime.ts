/** Serializes a mail as an RFC 5322 message, and derives its SMTP envelope. */
import { domainToASCII } from 'node:url'
import MailComposer from 'nodemailer/lib/mail-composer'
import { crlfBytes, crlfLines } from './crlf-lines.ts'
import type { Address, Mail } from './email-provider.ts'
import { htmlToText } from './html-to-text.ts'
import { headerLines, isReservedHeader, oneLine, subjectLines } from './mail-headers.ts'
import { label, mimePartsOf } from './mime-parts.ts'

const isFieldName = (name: string): boolean => /^[\x21-\x39\x3b-\x7e]{1,126}$/.test(name)

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

const callerHeaders = (mail: Mail): [name: string, value: string][] =>
  Object.entries(mail.headers).filter(([name]) => isFieldName(name) && !isReservedHeader(name))

/** In characters. A text part for longer HTML would take long to make, and would make a large message larger. */
const maxConvertedHtml = 1_000_000

/** Readers and spam filters expect a text next to the HTML. An empty text switches that off. */
const textPart = async ({ text, html }: Mail): Promise<string | null> =>
  text === null && html !== null && html.length <= maxConvertedHtml ? htmlToText(html) : text

/** In characters. To choose an encoding for a longer text, the composer would read it several times in one go. */
const maxExaminedText = 200_000

/** Longer texts are always sent as base64. */
const textContent = async (text: string) =>
  text.length > maxExaminedText
    ? { content: await crlfBytes(text), contentTransferEncoding: 'base64' as const }
    : crlfLines(text)

/** @param extra Headers that the provider adds, such as those its vendor reads. */
export const composeMime = async (mail: Mail, extra: Record<string, string> = {}): Promise<Buffer> => {
  const [, domain] = split(mail.from.address)
  const headers: [string, string][] = [
    ...callerHeaders(mail),
    ['X-Service-Message-Id', mail.messageId],
    ...Object.entries(extra),
  ]
  const text = await textPart(mail)
  const composer = new MailComposer({
    from: mailbox(mail.from),
    to: mail.to.map(mailbox),
    cc: mail.cc.map(mailbox),
    replyTo: mail.replyTo.map(mailbox),
    messageId: `<${mail.messageId}@${asciiDomain(domain)}>`,
    date: mail.at,
    // A message with neither text nor HTML is an empty text.
    ...(text !== null && { text: await textContent(text) }),
    ...(mail.html !== null && { html: await textContent(mail.html) }),
    ...(await mimePartsOf(mail.attachments, mail.html)),
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
