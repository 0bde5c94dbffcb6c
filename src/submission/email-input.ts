/** Makes of a message and its envelope what a caller of POST /emails would have sent. */
import { domainToASCII } from 'node:url'
import mime from 'mime/lite'
import { malformed } from '../ground/errors.ts'
import { HeaderName, HeaderValue, longestWritten, maxHeaders } from '../messages/email/shapes.ts'
import type { Attached, Mailbox, ParsedMail } from './reader.ts'

export type Composed = {
  /** Not judged yet: the schema of the API does that. */
  input: Record<string, unknown>
  tenantRef: string | undefined
  idempotencyKey: string | undefined
}

const own = 'x-service-'
const metadata = `${own}metadata-`
/** Marks of earlier journeys, some of which would tell a reader who else was written to. */
const notCarried = /^(?:x-service-.*|idempotency-key|resent-.*|arc-.*|authentication-results|delivered-to)$/i

/** Spellings of one mailbox compare equal. */
const comparable = (address: string): string => {
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1)
  return `${address.slice(0, at + 1)}${domainToASCII(domain) || domain}`.toLowerCase()
}

const written = ({ name, address }: Mailbox): string => {
  const plain = name
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
  const full = `"${plain.replace(/["\\]/g, '\\$&')}" <${address}>`
  return plain === '' || full.length > longestWritten ? address : full
}

type Recipients = { to: string[]; cc: string[]; bcc: string[] }

/**
 * Only those of the envelope are written to. What To and Cc say of them is shown, and whoever they do not name stays
 * hidden. A lone recipient may see the own address; of several hidden ones none may be shown to the others.
 */
const recipientsOf = (mail: ParsedMail, envelope: readonly string[]): Recipients => {
  const left = new Map(envelope.map((address) => [comparable(address), address]))
  const named = (list: Mailbox[]): string[] =>
    list.flatMap(({ name, address }) => {
      const recipient = left.get(comparable(address))
      if (recipient === undefined) return []
      left.delete(comparable(address))
      return [written({ name, address: recipient })]
    })
  const [to, cc] = [named(mail.to), named(mail.cc)]
  const hidden = [...left.values()]
  if (to.length > 0) return { to, cc, bcc: hidden }
  if (cc.length > 0) return { to: cc, cc: [], bcc: hidden }
  if (hidden.length === 1) return { to: hidden, cc: [], bcc: [] }
  throw malformed(
    'Neither To nor Cc names one of the recipients. Send each a message of its own, or put an address of yours into To and among the recipients.',
    ['to'],
  )
}

const senderOf = ({ from }: ParsedMail): string => {
  if (from.length > 1) throw malformed('Takes one sender; the message names several.', ['from'])
  return from[0] ? written(from[0]) : ''
}

/** What no header carries: control characters, but for the tab that a folded one may hold, and halves of characters. */
const isCarriable = (value: string): boolean => value.isWellFormed() && !/[^\P{Cc}\t]/u.test(value)

/** Those the API would take; the rest belongs to the way the message came here. */
const carriedHeaders = (mail: ParsedMail): Record<string, string> => {
  const carried = new Map<string, [string, string]>()
  for (const { name, value } of mail.headers) {
    if (carried.size === maxHeaders) break
    if (notCarried.test(name) || carried.has(name.toLowerCase())) continue
    if (!isCarriable(value)) continue
    if (!HeaderName.safeParse(name).success || !HeaderValue.safeParse(value).success) continue
    carried.set(name.toLowerCase(), [name, value])
  }
  return Object.fromEntries(carried.values())
}

const longestType = 255

/**
 * With the parameters that a reader of the file may need, such as its charset or what an invitation asks for. Its name
 * is told by the file name, and what cannot be written within quotes is left out.
 */
const typeOf = ({ type, parameters }: Attached): string | undefined => {
  if (!/^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/.test(type)) return undefined
  let full = type
  for (const [name, value] of Object.entries(parameters)) {
    if (name === 'name' || !/^[a-z0-9!#$&^_.+-]+$/.test(name) || !/^[ !#-[\]-~]*$/.test(value)) continue
    const longer = `${full}; ${name}=${/^[\w!#$&^.+-]+$/.test(value) ? value : `"${value}"`}`
    if (longer.length <= longestType) full = longer
  }
  return full.length <= longestType ? full : undefined
}

const unnamed = (type: string, index: number): string => {
  const extension = mime.getExtension(type)
  return `attachment-${index + 1}${extension === null ? '' : `.${extension}`}`
}

const attachmentOf = (file: Attached, index: number): Record<string, unknown> => {
  const { filename = '', type, content } = file
  const name = filename
    .replace(/[/\\\p{Cc}]/gu, '_')
    .slice(0, 255)
    .toWellFormed()
  return {
    filename: name === '' ? unnamed(type, index) : name,
    content: Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64'),
    content_type: typeOf(file),
  }
}

/** A scanner's file or an encrypted message comes without any text, and the API takes nothing that says nothing. */
const noText = '\n'

/** Anything but the two words is left for the schema to refuse. */
const flagOf = (text: string | undefined): boolean | string | undefined => {
  const word = text?.toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : text
}

export const compose = (mail: ParsedMail, envelope: readonly string[]): Composed => {
  const all = (wanted: string): string[] =>
    mail.headers.flatMap(({ name, value }) => (name.toLowerCase() === wanted ? [value.trim()] : []))
  const last = (wanted: string): string | undefined => all(wanted).at(-1)
  const refs = all(`${own}tenant-ref`)
  const key = last(`${own}idempotency-key`) ?? last('idempotency-key')
  return {
    // As one HTTP header would carry it: its bytes as Latin-1, several joined.
    tenantRef: refs.length === 0 ? undefined : Buffer.from(refs.join(', ')).toString('latin1'),
    idempotencyKey: key === '' ? undefined : key,
    input: {
      from: senderOf(mail),
      ...recipientsOf(mail, envelope),
      reply_to: mail.replyTo.map(written),
      subject: mail.subject,
      text: mail.text || mail.html ? mail.text : noText,
      html: mail.html,
      attachments: mail.attachments.map(attachmentOf),
      headers: carriedHeaders(mail),
      stream: last(`${own}stream`)?.toLowerCase(),
      track_opens: flagOf(last(`${own}track-opens`)),
      track_clicks: flagOf(last(`${own}track-clicks`)),
      tags: all(`${own}tag`),
      metadata: Object.fromEntries(
        mail.headers.flatMap(({ name, value }) => {
          // Mail software writes header names in any case it likes.
          const lower = name.toLowerCase()
          return lower.startsWith(metadata) ? [[lower.slice(metadata.length), value.trim()]] : []
        }),
      ),
    },
  }
}
