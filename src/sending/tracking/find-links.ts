/** Finds the links of an HTML text that a reader can follow, without changing the text. */
import { QuoteType, Tokenizer } from 'htmlparser2'
import type { Slices } from '../../platform/ground/event-loop-turns.ts'

/** The `href` of an `a` or `area` as a browser reads it, and its position between the quotes. */
export type Href = { start: number; end: number; quote: QuoteType; value: string }

type Seen = {
  onHref: (href: Href) => void
  onBodyEnd: (start: number) => void
}

/** In characters. A chunk is parsed in one go, in well under a slice. */
const defaultChunk = 16_384

const openingOfValue = /[\t\n\f\r ]*["']?/y

/** Where the value of an attribute begins: past the equals sign, spaces and the opening quote. */
const valueStart = (html: string, nameEnd: number): number => {
  openingOfValue.lastIndex = html.indexOf('=', nameEnd) + 1
  openingOfValue.test(html)
  return openingOfValue.lastIndex
}

const isNamed = (html: string, start: number, end: number, name: string): boolean =>
  end - start === name.length && html.slice(start, end).toLowerCase() === name

/** Ignores comments, including conditional ones, and the content of script, style and similar elements. */
const makeTokenizer = (html: string, { onHref, onBodyEnd }: Seen): Tokenizer => {
  let linking = false
  let nameEnd: number | undefined
  let value = ''
  let inTag: Href | undefined

  const endTag = () => {
    if (inTag) onHref(inTag)
    inTag = undefined
    linking = false
  }
  const ignore = () => undefined
  return new Tokenizer(
    {},
    {
      onopentagname: (start, end) => {
        linking = isNamed(html, start, end, 'a') || isNamed(html, start, end, 'area')
        inTag = undefined
      },
      onattribname: (start, end) => {
        // Browsers use the first of several href attributes.
        nameEnd = linking && !inTag && isNamed(html, start, end, 'href') ? end : undefined
        value = ''
      },
      onattribdata: (start, end) => {
        if (nameEnd !== undefined) value += html.slice(start, end)
      },
      onattribentity: (codepoint) => {
        if (nameEnd !== undefined) value += String.fromCodePoint(codepoint)
      },
      onattribend: (quote, end) => {
        if (nameEnd === undefined) return
        const quoted = quote === QuoteType.Single || quote === QuoteType.Double
        const start = quote === QuoteType.NoValue ? end : valueStart(html, nameEnd)
        inTag = { start, end: quoted ? end - 1 : end, quote, value }
        nameEnd = undefined
      },
      // A tag is complete only here. One that the text ends inside of is ignored.
      onopentagend: endTag,
      onselfclosingtag: endTag,
      onclosetag: (start, end) => {
        if (isNamed(html, start, end, 'body')) onBodyEnd(start - 2)
      },
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onprocessinginstruction: ignore,
      ontext: ignore,
      ontextentity: ignore,
    },
  )
}

/** Calls `onHref` and `onBodyEnd` in the order of the text. An error that they throw ends the search. */
export const findLinks = async (html: string, seen: Seen, slices: Slices, chunk = defaultChunk): Promise<void> => {
  const tokenizer = makeTokenizer(html, seen)
  for (let at = 0; at < html.length; at += chunk) {
    tokenizer.write(html.slice(at, at + chunk))
    if (slices.over()) await slices.next()
  }
  tokenizer.end()
}
