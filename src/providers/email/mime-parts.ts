/** Decides as which MIME parts the attachments of a mail are sent: as files, inside the HTML, or as an invitation. */
import { startSlices } from '../../platform/ground/event-loop-turns.ts'
import { crlfBytes } from './crlf-lines.ts'
import type { Attachment } from './email-provider.ts'
import { oneLine } from './mail-headers.ts'

/** Shortens long runs of spaces: the composer would fold them into a blank line, which can end the header section. */
export const label = (text: string): string =>
  oneLine(text)
    .trim()
    .replace(/ {50,}/g, ' ')

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

const asFile = async (attachment: Attachment) => {
  const contentType = safeType(attachment)
  const { content } = attachment
  return {
    filename: label(attachment.filename) || 'attachment',
    contentType,
    contentDisposition: 'attachment' as const,
    content: /^message\//i.test(contentType) ? await crlfBytes(content.toString('latin1'), 'latin1') : content,
  }
}

const insideHtml = async (attachment: Attachment, cid: string) => ({
  ...(await asFile(attachment)),
  contentDisposition: 'inline' as const,
  cid,
})

/** The characters of a content id need no encoding in a URL, but some programs encode them. */
export const contentIdPattern = /^[\w.+=$~!*@-]{1,128}$/
/** Bounded: an id that is longer than this in its encoded form is not one of ours. */
const contentIdUrl = /cid:([\w.+=$~!*@%-]{1,400})/gi

/** Content ids are ASCII, so each escape is one character. Does not throw: hostile HTML has millions of bad escapes. */
const decodedUrl = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** Of the given content ids, those that the HTML refers to. Runs in slices, because hostile HTML has millions. */
const shownContentIds = async (given: readonly Attachment[], html: string | null): Promise<Set<string>> => {
  const wanted = new Set(given.flatMap(({ contentId }) => contentId ?? []))
  const shown = new Set<string>()
  if (html === null || wanted.size === 0) return shown
  const slices = startSlices()
  for (const [, text = ''] of html.matchAll(contentIdUrl)) {
    const id = decodedUrl(text)
    if (wanted.has(id)) shown.add(id)
    if (shown.size === wanted.size) break
    if (slices.over()) await slices.next()
  }
  return shown
}

/** A parameter of a media type, without quotes. */
const parameterOf = (type: string, name: string): string | undefined =>
  new RegExp(`;\\s*${name}="?([\\w-]+)"?\\s*(?:;|$)`, 'i').exec(type)?.[1]

const isInvitation = ({ contentType }: Attachment): boolean =>
  /^text\/calendar\s*;/i.test(contentType) &&
  mediaType.test(contentType) &&
  parameterOf(contentType, 'method') !== undefined

/** Mail clients show buttons for an invitation only when it is an alternative to the text (RFC 6047). */
const asAlternative = ({ contentType, content }: Attachment) => {
  const charset = parameterOf(contentType, 'charset') ?? 'utf-8'
  const method = parameterOf(contentType, 'method')?.toUpperCase()
  return {
    contentType: `text/calendar; charset=${charset}; method=${method}`,
    contentTransferEncoding: 'base64' as const,
    content,
  }
}

/**
 * An attachment with a content id that the HTML refers to is shown in the HTML. The first invitation is an alternative
 * to the text, and also a file for mail clients that show no buttons, unless another attachment is that file.
 */
export const mimePartsOf = async (given: readonly Attachment[], html: string | null) => {
  const invitation = given.find(isInvitation)
  const hasFile = given.some((one) => one !== invitation && invitation?.content.equals(one.content))
  const files = hasFile ? given.filter((one) => one !== invitation) : given
  const shown = await shownContentIds(given, html)
  return {
    alternatives: invitation ? [asAlternative(invitation)] : [],
    attachments: await Promise.all(
      files.map((one) => {
        if (one.contentId !== undefined && shown.has(one.contentId)) return insideHtml(one, one.contentId)
        // The same type twice would make some mail clients show the invitation twice.
        return asFile(one === invitation ? { ...one, contentType: 'application/ics' } : one)
      }),
    ),
  }
}
