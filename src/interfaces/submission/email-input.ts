/** Converts a parsed message and its envelope to the body of a POST /emails request. */
import { domainToASCII } from 'node:url'
import mime from 'mime/lite'
import { malformed } from '../../platform/ground/errors.ts'
import { contentIdPattern } from '../../providers/email/mime-parts.ts'
import { HeaderName, HeaderValue, maxMailboxLength } from '../../sending/messages/email/shapes.ts'
import { maxMapKeys } from '../../sending/messages/shapes.ts'
import { type AttachedFile, bareContentId, type Mailbox, type ParsedMail } from './parsed-mail.ts'

const servicePrefix = 'x-service-'
const metadataPrefix = `${servicePrefix}metadata-`
/** Service headers, and trace headers of earlier deliveries. Some of those would reveal other recipients. */
const droppedHeaders = /^(?:x-service-.*|idempotency-key|resent-.*|arc-.*|authentication-results|delivered-to)$/i

/** Normalizes an address, so that different spellings of one mailbox compare equal. */
const comparable = (address: string): string => {
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1)
  return `${address.slice(0, at + 1)}${domainToASCII(domain) || domain}`.toLowerCase()
}

const formatMailbox = ({ name, address }: Mailbox): string => {
  const cleanName = name
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
  const full = `"${cleanName.replace(/["\\]/g, '\\$&')}" <${address}>`
  return cleanName === '' || full.length > maxMailboxLength ? address : full
}

/**
 * Only envelope recipients receive the message. Those listed in To or Cc stay there, and the others become Bcc. A
 * single unlisted recipient moves to To. Several unlisted recipients must not see each other, so without a listed
 * recipient the message is rejected.
 */
const recipientsOf = (mail: ParsedMail, envelope: readonly string[]) => {
  const unlisted = new Map(envelope.map((address) => [comparable(address), address]))
  const takeListed = (list: Mailbox[]): string[] =>
    list.flatMap(({ name, address }) => {
      const recipient = unlisted.get(comparable(address))
      if (recipient === undefined) return []
      unlisted.delete(comparable(address))
      return [formatMailbox({ name, address: recipient })]
    })
  const [to, cc] = [takeListed(mail.to), takeListed(mail.cc)]
  const hidden = [...unlisted.values()]
  if (to.length > 0) return { to, cc, bcc: hidden }
  if (cc.length > 0) return { to: cc, cc: [], bcc: hidden }
  if (hidden.length === 1) return { to: hidden, cc: [], bcc: [] }
  throw malformed(
    'Neither To nor Cc lists any of the recipients. Send each recipient a separate message, or add an address of your own to To and to the recipients.',
    ['to'],
  )
}

const senderOf = ({ from }: ParsedMail): string => {
  if (from.length > 1) throw malformed('Must be one sender. The message has several senders.', ['from'])
  return from[0] ? formatMailbox(from[0]) : ''
}

/** A header cannot contain lone surrogates or control characters, except for the tab of a folded header. */
const isHeaderText = (value: string): boolean => value.isWellFormed() && !/[^\P{Cc}\t]/u.test(value)

/** The headers that the API accepts. The others describe how the message reached this server. */
const customHeaders = (mail: ParsedMail): Record<string, string> => {
  const accepted = new Map<string, [string, string]>()
  for (const { name, value } of mail.headers) {
    if (accepted.size === maxMapKeys) break
    if (droppedHeaders.test(name) || accepted.has(name.toLowerCase())) continue
    if (!isHeaderText(value)) continue
    if (!HeaderName.safeParse(name).success || !HeaderValue.safeParse(value).success) continue
    accepted.set(name.toLowerCase(), [name, value])
  }
  return Object.fromEntries(accepted.values())
}

const maxTypeLength = 255

/**
 * The media type with the parameters that readers of the file may need, such as `charset` or the `method` of an
 * invitation. Leaves out `name`, because `filename` carries it, and values that cannot be written in quotes.
 */
const typeOf = ({ type, parameters }: AttachedFile): string | undefined => {
  if (!/^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/.test(type)) return undefined
  let full = type
  for (const [name, value] of Object.entries(parameters)) {
    if (name === 'name' || !/^[a-z0-9!#$&^_.+-]+$/.test(name) || !/^[ !#-[\]-~]*$/.test(value)) continue
    const extended = `${full}; ${name}=${/^[\w!#$&^.+-]+$/.test(value) ? value : `"${value}"`}`
    if (extended.length <= maxTypeLength) full = extended
  }
  return full.length <= maxTypeLength ? full : undefined
}

const generatedFilename = (type: string, index: number): string => {
  const extension = mime.getExtension(type)
  return `attachment-${index + 1}${extension === null ? '' : `.${extension}`}`
}

/** The content id without its brackets. Undefined for one that the API does not accept. */
const contentIdOf = (file: AttachedFile): string | undefined => {
  const id = bareContentId(file)
  return contentIdPattern.test(id) ? id : undefined
}

const attachmentOf = (file: AttachedFile, index: number): Record<string, unknown> => {
  const { filename = '', type, content } = file
  const name = filename
    .replace(/[/\\\p{Cc}]/gu, '_')
    .slice(0, 255)
    .toWellFormed()
  return {
    filename: name === '' ? generatedFilename(type, index) : name,
    content: Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64'),
    content_type: typeOf(file),
    content_id: contentIdOf(file),
  }
}

/** Of several parts with one content id, only the first keeps it, as mail clients show that one. */
const attachmentsOf = (files: AttachedFile[]): Record<string, unknown>[] => {
  const seen = new Set<unknown>()
  return files.map((file, index) => {
    const attachment = attachmentOf(file, index)
    if (seen.has(attachment.content_id)) attachment.content_id = undefined
    seen.add(attachment.content_id)
    return attachment
  })
}

/** Scanned files and encrypted messages arrive without text, but the API requires text or HTML. */
const emptyText = '\n'

/** Values other than `true` and `false` are passed on for the schema to reject. */
const flagOf = (text: string | undefined): boolean | string | undefined => {
  const lower = text?.toLowerCase()
  return lower === 'true' ? true : lower === 'false' ? false : text
}

export const emailInputOf = (mail: ParsedMail, envelope: readonly string[]) => {
  const all = (wanted: string): string[] =>
    mail.headers.flatMap(({ name, value }) => (name.toLowerCase() === wanted ? [value.trim()] : []))
  const last = (wanted: string): string | undefined => all(wanted).at(-1)
  const refs = all(`${servicePrefix}tenant-ref`)
  const key = last(`${servicePrefix}idempotency-key`) ?? last('idempotency-key')
  return {
    // In the form of an HTTP header: repeated values joined, bytes read as Latin-1.
    tenantRef: refs.length === 0 ? undefined : Buffer.from(refs.join(', ')).toString('latin1'),
    idempotencyKey: key === '' ? undefined : key,
    // Not validated yet. The API's request schema validates it.
    input: {
      from: senderOf(mail),
      ...recipientsOf(mail, envelope),
      reply_to: mail.replyTo.map(formatMailbox),
      subject: mail.subject ?? '',
      text: mail.text || mail.html ? mail.text : emptyText,
      html: mail.html,
      attachments: attachmentsOf(mail.attachments),
      headers: customHeaders(mail),
      stream: last(`${servicePrefix}stream`)?.toLowerCase(),
      track_opens: flagOf(last(`${servicePrefix}track-opens`)),
      track_clicks: flagOf(last(`${servicePrefix}track-clicks`)),
      tags: all(`${servicePrefix}tag`),
      metadata: Object.fromEntries(
        mail.headers.flatMap(({ name, value }) => {
          // Mail clients change the case of header names.
          const lower = name.toLowerCase()
          return lower.startsWith(metadataPrefix) ? [[lower.slice(metadataPrefix.length), value.trim()]] : []
        }),
      ),
    },
  }
}
