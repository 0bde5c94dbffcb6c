/**
 * Parses a message into its headers, its text, and its attachments byte for byte.
 *
 * postal-mime finds the MIME parts and parses their headers. Its decoded bodies are not used: it rewrites the line ends
 * of attachments, and converts HTML to text in quadratic time. `Parts` and `Part` declare members that its types keep
 * private. Its version is pinned, and reader.test.ts fails if those members change.
 */
import Parser, { type Address, addressParser, decodeWords } from 'postal-mime'
import type { AttachedFile, Mailbox, ParsedMail } from './parsed-mail.ts'
import { decodedBody } from './transfer-encoding.ts'

export type Reader = (bytes: Uint8Array) => Promise<ParsedMail>

type Structured = { value: string; params: Record<string, string> }
type Part = {
  parentNode?: Part
  childNodes: Part[]
  contentType: { parsed: Structured; multipart: string | false }
  contentDisposition: { parsed: Structured }
  contentId?: string
  content: Uint8Array | null
  contentDecoder: unknown
  setupContentDecoder(encoding: string): void
  decodeFlowedText(text: string, delSp: boolean): string
  getTextContent(): string
}
type Parts = Parser & { root: Part }

const limits = { maxNestingDepth: 32, maxHeadersSize: 262_144 }

/** A body is one contiguous range of the message. The line end before a boundary belongs to the boundary. */
const bodyOf = (part: Part, encoding: string) => {
  let start = 0
  let last: Uint8Array | undefined
  return {
    update: (line: Uint8Array) => {
      if (!last) start = line.byteOffset
      last = line
    },
    finalize: () => {
      if (!last) return Buffer.alloc(0)
      const whole = Buffer.from(last.buffer)
      let end = last.byteOffset + last.byteLength
      // The parser strips all trailing carriage returns, but only the last one belongs to the line end.
      while (whole[end] === 0x0d && whole[end + 1] === 0x0d) end++
      return decodedBody(whole.subarray(start, part.parentNode ? end : undefined), encoding)
    },
  }
}

class OnlyParts extends Parser {
  async collectNode(): Promise<void> {}
}

const flat = (list: Address[]): Mailbox[] =>
  list.flatMap((one) => one.group ?? [one]).map(({ name, address }) => ({ name: name ?? '', address: address ?? '' }))

const textOf = (found: Part): string => {
  const text = found.getTextContent().replace(/\r\n/g, '\n')
  // SMTP ends every message with a line end, even if its author did not.
  return found.parentNode ? text : text.replace(/\n$/, '')
}

const asHtml = (text: string): string => {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<p>${escaped.replaceAll('\n', '<br>\n')}</p>`
}

const attachedFile = ({ contentType, contentDisposition, contentId, content }: Part): AttachedFile => {
  const { value, params } = contentType.parsed
  const filename = contentDisposition.parsed.params.filename || params.name
  return {
    filename: filename ? decodeWords(filename) : undefined,
    type: value,
    parameters: { ...params },
    content: new Uint8Array(content ?? []),
    contentId,
  }
}

/** One section of the text: a single part, or the alternatives of one multipart. */
type Section = { plain: string[]; html: string[] }

const collect = (root: Part): { sections: Section[]; attachments: AttachedFile[] } => {
  const sections: Section[] = []
  const attachments: AttachedFile[] = []
  const walk = (found: Part, alternatives: Section | undefined): void => {
    const { parsed, multipart } = found.contentType
    if (multipart) {
      if (found.childNodes.length === 0 && /\S/.test(String(found.content ?? ''))) {
        throw new Error('multipart has content but no part')
      }
      const section = alternatives ?? (multipart === 'alternative' ? { plain: [], html: [] } : undefined)
      if (section && !alternatives) sections.push(section)
      for (const child of found.childNodes) walk(child, section)
      return
    }
    const isFile = found.contentDisposition.parsed.value === 'attachment'
    const form = { 'text/plain': 'plain', 'text/html': 'html' }[parsed.value] as keyof Section | undefined
    if (isFile || !form) {
      // A message with an empty body has no attachment.
      if (found.parentNode || found.content?.length) attachments.push(attachedFile(found))
      return
    }
    const section = alternatives ?? { plain: [], html: [] }
    if (!alternatives) sections.push(section)
    section[form].push(textOf(found))
  }
  walk(root, undefined)
  return { sections: sections.filter(({ plain, html }) => plain.length + html.length > 0), attachments }
}

/** Joins the sections. HTML is not converted to text: if one section has HTML only, the message has no text. */
const joined = (sections: Section[]): Pick<ParsedMail, 'text' | 'html'> => {
  const hasText = sections.length > 0 && sections.every(({ plain }) => plain.length > 0)
  const hasHtml = sections.some(({ html }) => html.length > 0)
  const htmlOf = ({ plain, html }: Section): string[] => (html.length > 0 ? html : plain.map(asHtml))
  return {
    text: hasText ? sections.flatMap(({ plain }) => plain).join('\n') : undefined,
    html: hasHtml ? sections.flatMap(htmlOf).join('\n') : undefined,
  }
}

/** Joins the lines of each paragraph. Lines of different quote depth are never joined (RFC 3676, 4.5). */
const unflowed = (text: string, delSp: boolean): string => {
  const paragraphs: { depth: number; lines: string[] }[] = []
  let open = false
  for (const line of text.split(/\r?\n/)) {
    const depth = (/^>*/.exec(line) as RegExpExecArray)[0].length
    const stuffed = line[depth] === ' ' ? 1 : 0
    const content = line.slice(depth + stuffed)
    const isSignature = content === '-- '
    const last = paragraphs.at(-1)
    const flows = content.endsWith(' ') && !isSignature
    const joinable = flows && delSp ? content.slice(0, -1) : content
    if (open && !isSignature && last?.depth === depth) last.lines.push(joinable)
    else paragraphs.push({ depth, lines: [joinable] })
    open = flows
  }
  return paragraphs.map(({ depth, lines }) => `${'>'.repeat(depth)}${depth > 0 ? ' ' : ''}${lines.join('')}`).join('\n')
}

/** Changes the prototype of the library's parts, so it belongs into a thread of its own. */
export const makeReader = (): Reader => {
  const part = Object.getPrototypeOf((new Parser() as Parts).root) as Part
  part.setupContentDecoder = function (encoding) {
    this.contentDecoder = bodyOf(this, encoding)
  }
  part.decodeFlowedText = unflowed

  return async (bytes) => {
    const parser = new OnlyParts(limits) as OnlyParts & Parts
    const mail = await parser.parse(bytes)
    const senders = mail.headers.flatMap(({ key, value }) => (key === 'from' ? addressParser(value) : []))
    const { sections, attachments } = collect(parser.root)
    return {
      headers: mail.headers.map(({ originalKey, value }) => ({
        name: originalKey,
        value: decodeWords(value),
      })),
      // "Doe, Jane <jane@example.com>" without quotes parses as two mailboxes, of which one has no address.
      from: flat(senders).filter(({ address }) => address !== ''),
      to: flat(mail.to ?? []),
      cc: flat(mail.cc ?? []),
      replyTo: flat(mail.replyTo ?? []),
      subject: mail.subject,
      ...joined(sections),
      attachments,
    }
  }
}
