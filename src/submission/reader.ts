/**
 * Reads a message: its headers, its text, and its files byte for byte.
 *
 * postal-mime finds the parts and reads their headers. What it makes of the bodies is not asked for: it ends every
 * line of a file anew, and turns HTML into text in a time that grows with the square of its size. Members that its
 * types keep to themselves are named in `Parts` and `Part`; its version is pinned, and the tests beside hold it to them.
 */
import type * as PostalMime from 'postal-mime'

export type Mailbox = { name: string; address: string }

export type Attached = {
  filename: string | undefined
  /** Without its parameters. */
  type: string
  parameters: Record<string, string>
  content: Uint8Array<ArrayBuffer>
}

export type ParsedMail = {
  /** In the order they stand, repeated ones too, with their encoded words decoded. */
  headers: { name: string; value: string }[]
  from: Mailbox[]
  to: Mailbox[]
  cc: Mailbox[]
  replyTo: Mailbox[]
  subject: string | undefined
  text: string | undefined
  html: string | undefined
  attachments: Attached[]
}

export type Reader = (bytes: Uint8Array) => Promise<ParsedMail>

type Structured = { value: string; params: Record<string, string> }
type Part = {
  parentNode?: Part
  childNodes: Part[]
  contentType: { parsed: Structured; multipart: string | false }
  contentDisposition: { parsed: Structured }
  content: Uint8Array | null
  contentDecoder: unknown
  setupContentDecoder(encoding: string): void
  decodeFlowedText(text: string, delSp: boolean): string
  getTextContent(): string
}
type Parts = PostalMime.default & { root: Part }

/** Is sent to a thread as text, and so may use nothing that stands outside of it. */
export const makeReader = (library: typeof PostalMime): Reader => {
  const { default: Parser, addressParser, decodeWords } = library
  const limits = { maxNestingDepth: 32, maxHeadersSize: 262_144 }

  const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09

  const hexDigit = (byte: number): number => {
    const [digit, letter] = [byte - 0x30, (byte | 0x20) - 0x57]
    return digit >= 0 && digit < 10 ? digit : letter >= 10 && letter < 16 ? letter : Number.NaN
  }

  /** Line by line; blanks at the end of one were added on the way (RFC 2045, 6.7). */
  const fromQuotedPrintable = (encoded: Buffer): Buffer => {
    const plain = Buffer.alloc(encoded.length)
    let length = 0
    for (let at = 0; at < encoded.length; ) {
      const feed = encoded.indexOf(0x0a, at)
      const next = feed < 0 ? encoded.length : feed + 1
      let end = feed < 0 ? next : feed > at && encoded[feed - 1] === 0x0d ? feed - 1 : feed
      const lineEnd = encoded.subarray(end, next)
      while (end > at && isBlank(encoded[end - 1])) end--
      const goesOn = end > at && encoded[end - 1] === 0x3d
      if (goesOn) end--
      while (at < end) {
        const byte = encoded[at++] as number
        const octet =
          byte === 0x3d && at + 1 < end
            ? hexDigit(encoded[at] as number) * 16 + hexDigit(encoded[at + 1] as number)
            : Number.NaN
        if (!Number.isNaN(octet)) at += 2
        plain[length++] = Number.isNaN(octet) ? byte : octet
      }
      if (!goesOn) length += lineEnd.copy(plain, length)
      at = next
    }
    return plain.subarray(0, length)
  }

  /** Some programs fill up every line, so what ends in "=" is decoded by itself. */
  const fromBase64 = (encoded: Buffer): Buffer => {
    const units = encoded.toString('latin1').split(/=+/)
    return Buffer.concat(units.map((unit) => Buffer.from(unit, 'base64')))
  }

  const decoded = (body: Buffer, encoding: string): Buffer => {
    if (encoding === 'base64') return fromBase64(body)
    return encoding === 'quoted-printable' ? fromQuotedPrintable(body) : body
  }

  /** Every body is one stretch of the message. The line end before a boundary belongs to the boundary. */
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
        // It comes without any of its carriage returns, of which only one is of the line end.
        while (whole[end] === 0x0d && whole[end + 1] === 0x0d) end++
        return decoded(whole.subarray(start, part.parentNode ? end : undefined), encoding)
      },
    }
  }

  /** Paragraphs in one line each; lines of different quoting are never one (RFC 3676, 4.5). */
  const unflowed = (text: string, delSp: boolean): string => {
    const paragraphs: { depth: number; pieces: string[] }[] = []
    let open = false
    for (const line of text.split(/\r?\n/)) {
      const depth = (/^>*/.exec(line) as RegExpExecArray)[0].length
      const stuffed = line[depth] === ' ' ? 1 : 0
      const said = line.slice(depth + stuffed)
      const isSignature = said === '-- '
      const last = paragraphs.at(-1)
      const flows = said.endsWith(' ') && !isSignature
      const piece = flows && delSp ? said.slice(0, -1) : said
      if (open && !isSignature && last?.depth === depth) last.pieces.push(piece)
      else paragraphs.push({ depth, pieces: [piece] })
      open = flows
    }
    return paragraphs
      .map(({ depth, pieces }) => `${'>'.repeat(depth)}${depth > 0 ? ' ' : ''}${pieces.join('')}`)
      .join('\n')
  }

  // The thread has this copy of the library to itself.
  const part = Object.getPrototypeOf((new Parser() as Parts).root) as Part
  part.setupContentDecoder = function (encoding) {
    this.contentDecoder = bodyOf(this, encoding)
  }
  part.decodeFlowedText = unflowed

  class OnlyParts extends Parser {
    async collectNode(): Promise<void> {}
  }

  const flat = (list: PostalMime.Address[]): Mailbox[] =>
    list.flatMap((one) => one.group ?? [one]).map(({ name, address }) => ({ name: name ?? '', address: address ?? '' }))

  const textOf = (found: Part): string => {
    const text = found.getTextContent().replace(/\r\n/g, '\n')
    // SMTP ends every message with a line end, whether its writer did or not.
    return found.parentNode ? text : text.replace(/\n$/, '')
  }

  const asHtml = (text: string): string => {
    const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
    return `<p>${escaped.replaceAll('\n', '<br>\n')}</p>`
  }

  const attachedOf = ({ contentType, contentDisposition, content }: Part): Attached => {
    const { value, params } = contentType.parsed
    const filename = contentDisposition.parsed.params.filename || params.name
    return {
      filename: filename ? decodeWords(filename) : undefined,
      type: value,
      parameters: { ...params },
      content: new Uint8Array(content ?? []),
    }
  }

  /** The same words in one or two forms: a part by itself, or several that are alternatives. */
  type Said = { plain: string[]; html: string[] }

  const collect = (root: Part): { said: Said[]; attachments: Attached[] } => {
    const said: Said[] = []
    const attachments: Attached[] = []
    const walk = (found: Part, alternatives: Said | undefined): void => {
      const { parsed, multipart } = found.contentType
      if (multipart) {
        if (found.childNodes.length === 0 && /\S/.test(String(found.content ?? ''))) {
          throw new Error('a multipart in which no part begins')
        }
        const together = alternatives ?? (multipart === 'alternative' ? { plain: [], html: [] } : undefined)
        if (together && !alternatives) said.push(together)
        for (const child of found.childNodes) walk(child, together)
        return
      }
      const isFile = found.contentDisposition.parsed.value === 'attachment'
      const form = { 'text/plain': 'plain', 'text/html': 'html' }[parsed.value] as keyof Said | undefined
      if (isFile || !form) {
        // A message without any body is not one with an empty file.
        if (found.parentNode || found.content?.length) attachments.push(attachedOf(found))
        return
      }
      const into = alternatives ?? { plain: [], html: [] }
      if (!alternatives) said.push(into)
      into[form].push(textOf(found))
    }
    walk(root, undefined)
    return { said: said.filter(({ plain, html }) => plain.length + html.length > 0), attachments }
  }

  /** Texts one after the other. HTML is not turned into text: where only some of it has one, there is none. */
  const joined = (said: Said[]): Pick<ParsedMail, 'text' | 'html'> => {
    const hasText = said.length > 0 && said.every(({ plain }) => plain.length > 0)
    const hasHtml = said.some(({ html }) => html.length > 0)
    const htmlOf = ({ plain, html }: Said): string[] => (html.length > 0 ? html : plain.map(asHtml))
    return {
      text: hasText ? said.flatMap(({ plain }) => plain).join('\n') : undefined,
      html: hasHtml ? said.flatMap(htmlOf).join('\n') : undefined,
    }
  }

  return async (bytes) => {
    const parser = new OnlyParts(limits) as OnlyParts & Parts
    const mail = await parser.parse(bytes)
    const senders = mail.headers.flatMap(({ key, value }) => (key === 'from' ? addressParser(value) : []))
    const { said, attachments } = collect(parser.root)
    return {
      headers: mail.headers.map(({ originalKey, value }) => ({
        name: originalKey,
        value: decodeWords(value),
      })),
      // "Doe, Jane <jane@example.com>" without its quotes is one sender.
      from: flat(senders).filter(({ address }) => address !== ''),
      to: flat(mail.to ?? []),
      cc: flat(mail.cc ?? []),
      replyTo: flat(mail.replyTo ?? []),
      subject: mail.subject,
      ...joined(said),
      attachments,
    }
  }
}
