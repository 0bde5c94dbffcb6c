/** Adds tracking to the HTML of a mail. Only the changed attribute values are replaced. Every other byte stays. */
import { QuoteType, Tokenizer } from 'htmlparser2'

export type Preparation = {
  /** The URL of the tracking pixel. Null adds no pixel. */
  openUrl: string | null
  /** Returns the URL that replaces a link's own. A link whose URL is returned unchanged is not rewritten. */
  wrap: ((url: string) => string) | null
  /** URLs that are never wrapped. One that ends in `/` covers everything below it. */
  keep: readonly string[]
}

/** The `href` of an `a` or `area` as a browser reads it, and its position between the quotes. */
type Link = { start: number; end: number; quote: QuoteType; value: string }
type Found = { links: Link[]; lastBodyEnd: number | undefined }

const space = /[\t\n\f\r ]/

/** Where the value of an attribute begins: past the equals sign, spaces and the opening quote. */
const valueStart = (html: string, nameEnd: number): number => {
  let at = nameEnd
  while (html[at] !== '=') at++
  do at++
  while (space.test(html[at] ?? ''))
  return html[at] === '"' || html[at] === "'" ? at + 1 : at
}

const isNamed = (html: string, start: number, end: number, name: string): boolean =>
  end - start === name.length && html.slice(start, end).toLowerCase() === name

/** Ignores comments, including conditional ones, and the content of script, style and similar elements. */
const findLinks = (html: string): Found => {
  const links: Link[] = []
  let lastBodyEnd: number | undefined
  let linking = false
  let nameEnd: number | undefined
  let value = ''
  let inTag: Link | undefined

  const endTag = () => {
    if (inTag) links.push(inTag)
    inTag = undefined
    linking = false
  }
  const ignore = () => undefined
  const tokenizer = new Tokenizer(
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
        if (isNamed(html, start, end, 'body')) lastBodyEnd = start - 2
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
  tokenizer.write(html)
  tokenizer.end()
  return { links, lastBodyEnd }
}

const asBrowsersRead = (value: string): string =>
  // Browsers ignore control characters and spaces around a URL, and tabs and line breaks inside it.
  trimControls(value).replaceAll(/[\t\n\r]/g, '')

const trimControls = (value: string): string => {
  let [start, end] = [0, value.length]
  while (start < end && value.charCodeAt(start) <= 0x20) start++
  while (end > start && value.charCodeAt(end - 1) <= 0x20) end--
  return value.slice(start, end)
}

/** Whether a link can be the target of a redirect: an absolute web URL without control characters. */
export const isWebUrl = (url: string): boolean => /^https?:\/\//i.test(url) && !/\p{Cc}/u.test(url) && URL.canParse(url)

const normal = (url: string): string => (URL.canParse(url) ? new URL(url).href : url)

const makeIsKept = (keep: readonly string[]): ((url: string) => boolean) => {
  const exact = new Set(keep.map(normal))
  const folders = keep.filter((url) => url.endsWith('/')).map(normal)
  return (url) => {
    const normalUrl = normal(url)
    return exact.has(normalUrl) || folders.some((folder) => normalUrl.startsWith(folder))
  }
}

const encodeFor = (value: string, quote: QuoteType): string =>
  value.replaceAll(quote === QuoteType.Unquoted ? /[&<>"'`=\s]/g : /[&<>"']/g, (character) =>
    character === '&' ? '&amp;' : `&#${character.charCodeAt(0)};`,
  )

const pixel = (url: string): string =>
  `<img src="${encodeFor(url, QuoteType.Double)}" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">`

type Change = { start: number; end: number; text: string }

const wrapLinks = (links: Link[], wrap: (url: string) => string, keep: readonly string[]): Change[] => {
  const isKept = makeIsKept(keep)
  return links.flatMap(({ start, end, quote, value }) => {
    const url = asBrowsersRead(value)
    if (!isWebUrl(url) || isKept(url)) return []
    const wrapped = wrap(url)
    return wrapped === url ? [] : [{ start, end, text: encodeFor(wrapped, quote) }]
  })
}

const apply = (html: string, changes: Change[]): string => {
  const pieces: string[] = []
  let copied = 0
  for (const { start, end, text } of changes) {
    pieces.push(html.slice(copied, start), text)
    copied = end
  }
  return pieces.join('') + html.slice(copied)
}

/** Wraps the web links of `a` and `area`, and adds the pixel before the last `</body>` or at the end. */
export const prepareHtml = (html: string, { openUrl, wrap, keep }: Preparation): string => {
  if (openUrl === null && wrap === null) return html
  const { links, lastBodyEnd = html.length } = findLinks(html)
  const changes = wrap ? wrapLinks(links, wrap, keep) : []
  if (openUrl !== null) {
    const next = changes.findIndex(({ start }) => start >= lastBodyEnd)
    const added = { start: lastBodyEnd, end: lastBodyEnd, text: pixel(openUrl) }
    changes.splice(next < 0 ? changes.length : next, 0, added)
  }
  return apply(html, changes)
}
