/** Puts tracking into the HTML of a mail. Only the values that change are replaced; every other byte stays. */
import { QuoteType, Tokenizer } from 'htmlparser2'

export type Preparation = {
  /** Where the pixel is loaded from; null adds none. */
  openUrl: string | null
  /** The address a link gets in place of its own; one answered unchanged leaves the link as it is. */
  wrap: ((url: string) => string) | null
  /** Addresses never wrapped; one that ends in `/` stands for everything under it. */
  keep: readonly string[]
}

/** A value of `a` or `area`, as a browser would read it, and where it stands between its quotes. */
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

const namedLike = (html: string, start: number, end: number, name: string): boolean =>
  end - start === name.length && html.slice(start, end).toLowerCase() === name

/** Comments, conditional ones among them, and what stands in script, style and the like hold no links. */
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
  const nothing = () => undefined
  const tokenizer = new Tokenizer(
    {},
    {
      onopentagname: (start, end) => {
        linking = namedLike(html, start, end, 'a') || namedLike(html, start, end, 'area')
        inTag = undefined
      },
      onattribname: (start, end) => {
        // Of several a browser takes the first.
        nameEnd = linking && !inTag && namedLike(html, start, end, 'href') ? end : undefined
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
      // A tag the text ends within is no tag.
      onopentagend: endTag,
      onselfclosingtag: endTag,
      onclosetag: (start, end) => {
        if (namedLike(html, start, end, 'body')) lastBodyEnd = start - 2
      },
      oncdata: nothing,
      oncomment: nothing,
      ondeclaration: nothing,
      onend: nothing,
      onprocessinginstruction: nothing,
      ontext: nothing,
      ontextentity: nothing,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return { links, lastBodyEnd }
}

const asBrowsersRead = (value: string): string =>
  // Controls and spaces around an address, and line breaks within, are no part of it.
  trimControls(value).replaceAll(/[\t\n\r]/g, '')

const trimControls = (value: string): string => {
  let [start, end] = [0, value.length]
  while (start < end && value.charCodeAt(start) <= 0x20) start++
  while (end > start && value.charCodeAt(end - 1) <= 0x20) end--
  return value.slice(start, end)
}

/** Whether a link can be followed through a redirect at all: whole addresses of the web, without control characters. */
export const isWebUrl = (url: string): boolean => /^https?:\/\//i.test(url) && !/\p{Cc}/u.test(url) && URL.canParse(url)

const normal = (url: string): string => (URL.canParse(url) ? new URL(url).href : url)

const makeKept = (keep: readonly string[]): ((url: string) => boolean) => {
  const exact = new Set(keep.map(normal))
  const folders = keep.filter((url) => url.endsWith('/')).map(normal)
  return (url) => {
    const given = normal(url)
    return exact.has(given) || folders.some((folder) => given.startsWith(folder))
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
  const kept = makeKept(keep)
  return links.flatMap(({ start, end, quote, value }) => {
    const url = asBrowsersRead(value)
    if (!isWebUrl(url) || kept(url)) return []
    const wrapped = wrap(url)
    return wrapped === url ? [] : [{ start, end, text: encodeFor(wrapped, quote) }]
  })
}

const apply = (html: string, changes: Change[]): string => {
  const pieces: string[] = []
  let done = 0
  for (const { start, end, text } of changes) {
    pieces.push(html.slice(done, start), text)
    done = end
  }
  return pieces.join('') + html.slice(done)
}

/** Wraps the web links of `a` and `area` and adds the pixel before the last `</body>`, else at the end. */
export const prepareHtml = (html: string, { openUrl, wrap, keep }: Preparation): string => {
  if (openUrl === null && wrap === null) return html
  const { links, lastBodyEnd = html.length } = findLinks(html)
  const changes = wrap ? wrapLinks(links, wrap, keep) : []
  if (openUrl !== null) {
    const before = changes.findIndex(({ start }) => start >= lastBodyEnd)
    const added = { start: lastBodyEnd, end: lastBodyEnd, text: pixel(openUrl) }
    changes.splice(before < 0 ? changes.length : before, 0, added)
  }
  return apply(html, changes)
}
