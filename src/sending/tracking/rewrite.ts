/**
 * Adds links of this service to the text of a mail: tracking and the unsubscribe link. Only the changed attribute values
 * and the tags of the unsubscribe link are replaced. Every other byte stays. A text is read once and then written for
 * each recipient. Both work in slices, because a text can have many megabytes.
 */
import { randomUUID } from 'node:crypto'
import { QuoteType } from 'htmlparser2'
import { Failure } from '../../platform/ground/errors.ts'
import { type Slices, startSlices } from '../../platform/ground/event-loop-turns.ts'
import { findLinks, type Href } from './find-links.ts'
import { isWebUrl, makeIsKept, trackableUrl } from './web-url.ts'

export type ReadOptions = {
  /** Finds the place of the pixel. */
  opens: boolean
  /** Finds the links to wrap. */
  clicks: boolean
  /** URLs that are never wrapped. One that ends in `/` covers everything below it. */
  keep: readonly string[]
  /** Matches the places of the unsubscribe link, if the mail has one. */
  unsubscribeTag: RegExp | null
  /** The beginning of every unsubscribe link. */
  unsubscribeFolder: string
}

/** The URLs for one recipient. */
type PageLinks = {
  /** The URL of the tracking pixel, if the page was read for opens. */
  openUrl: string | null
  /** Returns the URL that replaces a link's own. A link whose URL is returned unchanged is not rewritten. */
  wrap: (url: string) => string
  unsubscribeUrl: string | null
}

/** A text that is read once and written for each recipient. */
export type Page = { pieces: readonly Piece[]; length: number; standIn: string }

const unsubscribePlace = Symbol('unsubscribe link')
const pixelPlace = Symbol('pixel')

type TrackedLink = {
  url: string
  /** Equal URLs have the same number. */
  number: number
  quote: QuoteType
  original: string
  hasUnsubscribeLink: boolean
}
type Piece = string | typeof unsubscribePlace | typeof pixelPlace | TrackedLink

/** Signing a link costs some microseconds, and a bulk call signs each link for each of its recipients. */
export const maxTrackedLinks = 100_000

/** The limit for html and for text. Unsubscribe and tracking links can make them many times longer than requested. */
export const maxFilledCharacters = 20_000_000

export const tooManyCharacters = (): Failure =>
  new Failure('PAYLOAD_TOO_LARGE', {
    message: 'With its links filled in, html or text has more than 20,000,000 characters.',
  })

/** Longer texts wait for their turn before they start. */
const shortText = 50_000

const slicesFor = async (length: number): Promise<Slices> => {
  const slices = startSlices()
  if (length > shortText) await slices.next()
  return slices
}

/** Joins many pieces in two steps, because joining hundreds of thousands at once takes longer than a slice. */
const makeText = (limit: number) => {
  const joined: string[] = []
  let parts: string[] = []
  let length = 0
  return {
    add: (part: string): void => {
      length += part.length
      if (length > limit) throw tooManyCharacters()
      if (parts.push(part) < 1_024) return
      joined.push(parts.join(''))
      parts = []
    },
    join: (): string => joined.join('') + parts.join(''),
  }
}

/** Replaces each tag with the stand-in, so that the parser sees a link there. Returns the positions of the stand-ins. */
const standIn = async (text: string, tag: RegExp, link: string, slices: Slices) => {
  const filled = makeText(Number.POSITIVE_INFINITY)
  const places: number[] = []
  let copied = 0
  let shift = 0
  for (const { 0: found, index } of text.matchAll(tag)) {
    filled.add(text.slice(copied, index))
    filled.add(link)
    places.push(index + shift)
    shift += link.length - found.length
    copied = index + found.length
    if (slices.over()) await slices.next()
  }
  filled.add(text.slice(copied))
  return { source: filled.join(), places }
}

type Found = Href & { number: number }

const findTracked = async (source: string, { clicks, keep }: ReadOptions, slices: Slices) => {
  const isKept = makeIsKept(keep)
  const links: Found[] = []
  const numbers = new Map<string, number>()
  let bodyEnd = source.length
  const onHref = (href: Href): void => {
    const url = trackableUrl(href.value)
    if (url === undefined || !isWebUrl(url)) return
    let number = numbers.get(url)
    if (number === undefined) {
      if (isKept(url)) return
      number = numbers.size
      numbers.set(url, number)
    }
    if (links.length === maxTrackedLinks) {
      const message = 'The html has more than 100,000 links to track. Send fewer links, or turn off track_clicks.'
      throw new Failure('PAYLOAD_TOO_LARGE', { message })
    }
    links.push({ ...href, value: url, number })
  }
  const onBodyEnd = (start: number): void => {
    bodyEnd = start
  }
  await findLinks(source, { onHref: clicks ? onHref : () => undefined, onBodyEnd }, slices)
  return { links, bodyEnd }
}

type Cuts = { places: number[]; standInLength: number; links: Found[]; pixelAt: number | null }

/** Cuts the text at its links, at the places of the unsubscribe link and at the place of the pixel. */
function* cut(source: string, { places, standInLength, links, pixelAt }: Cuts): Generator<Piece> {
  let at = 0
  let nextPlace = 0
  function* textUntil(end: number): Generator<Piece> {
    for (let place = places[nextPlace]; place !== undefined && place < end; place = places[++nextPlace]) {
      yield source.slice(at, place)
      yield unsubscribePlace
      at = place + standInLength
    }
    yield source.slice(at, end)
    at = end
  }
  let placed = pixelAt === null
  function* pixelBefore(end: number): Generator<Piece> {
    if (placed || (pixelAt as number) > end) return
    placed = true
    yield* textUntil(pixelAt as number)
    yield pixelPlace
  }
  for (const { start, end, quote, value, number } of links) {
    yield* pixelBefore(start)
    yield* textUntil(start)
    const firstPlace = nextPlace
    while ((places[nextPlace] ?? end) < end) nextPlace++
    const hasUnsubscribeLink = nextPlace > firstPlace
    yield { url: value, number, quote, original: source.slice(start, end), hasUnsubscribeLink }
    at = end
  }
  yield* pixelBefore(source.length)
  yield* textUntil(source.length)
}

/** Rejects a text with too many links. Without tracking, only the places of the unsubscribe link are found. */
export const readPage = async (text: string, options: ReadOptions): Promise<Page> => {
  const { opens, clicks, unsubscribeTag, unsubscribeFolder } = options
  const slices = await slicesFor(text.length)
  // Shorter than every unsubscribe link. The random part cannot occur in the text.
  const link = unsubscribeFolder + randomUUID()
  const { source, places } = unsubscribeTag
    ? await standIn(text, unsubscribeTag, link, slices)
    : { source: text, places: [] }
  const { links, bodyEnd } =
    opens || clicks ? await findTracked(source, options, slices) : { links: [], bodyEnd: source.length }
  const pieces: Piece[] = []
  for (const piece of cut(source, { places, standInLength: link.length, links, pixelAt: opens ? bodyEnd : null })) {
    if (piece !== '') pieces.push(piece)
    if (slices.over()) await slices.next()
  }
  return { pieces, length: source.length, standIn: link }
}

const encodeFor = (value: string, quote: QuoteType): string =>
  value.replaceAll(quote === QuoteType.Unquoted ? /[&<>"'`=\s]/g : /[&<>"']/g, (character) =>
    character === '&' ? '&amp;' : `&#${character.charCodeAt(0)};`,
  )

const pixel = (url: string): string =>
  `<img src="${encodeFor(url, QuoteType.Double)}" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">`

/** Writes the links of one recipient. Equal links are signed once. */
const makeWriteLink = ({ standIn: link }: Page, { wrap, unsubscribeUrl }: PageLinks) => {
  const written: (string | null)[][] = [[], []]
  const wrapped = (url: string, quote: QuoteType): string | null => {
    const target = wrap(url)
    return target === url ? null : encodeFor(target, quote)
  }
  const fill = (text: string): string => text.replaceAll(link, () => unsubscribeUrl ?? '')
  return ({ url, number, quote, original, hasUnsubscribeLink }: TrackedLink): string => {
    if (hasUnsubscribeLink) return wrapped(fill(url), quote) ?? fill(original)
    const known = written[quote === QuoteType.Unquoted ? 1 : 0] as (string | null)[]
    let text = known[number]
    if (text === undefined) {
      text = wrapped(url, quote)
      known[number] = text
    }
    return text ?? original
  }
}

/** The text for one recipient. Rejects it as soon as it becomes too long. */
export const writePage = async (page: Page, links: PageLinks, limit = maxFilledCharacters): Promise<string> => {
  const slices = await slicesFor(page.length)
  const text = makeText(limit)
  const writeLink = makeWriteLink(page, links)
  const textOf = (piece: Piece): string => {
    if (typeof piece === 'string') return piece
    if (piece === unsubscribePlace) return links.unsubscribeUrl ?? ''
    if (piece === pixelPlace) return links.openUrl === null ? '' : pixel(links.openUrl)
    return writeLink(piece)
  }
  for (const piece of page.pieces) {
    text.add(textOf(piece))
    if (slices.over()) await slices.next()
  }
  return text.join()
}
