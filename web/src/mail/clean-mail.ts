/**
 * Reads the HTML of a mail and keeps listed elements and attributes only. The result is not HTML but a list of steps, so
 * that no other parser can understand it differently. Its size is limited, whatever the mail contains. Runs in a worker.
 */
import { Parser } from 'htmlparser2'
import { type CheckUrl, cleanSheets, cleanStyle } from './clean-css.ts'
import { photograph } from './photographs.ts'

export type Attributes = Record<string, string>

/** Opens an element, adds a text, or closes the element that was opened last. */
export type Step = [name: string, attributes: Attributes] | string | 0

export type CleanMail = {
  steps: Step[]
  css: string
  /** Of the body of the mail. */
  body: Attributes
  /** How many pictures of other servers are left out. */
  blocked: number
  /** The content ids of the pictures that it refers to. */
  wanted: string[]
  /** Whether the end of the mail is left out. */
  cut: boolean
}

/** `data:` addresses of attachments, by content id. */
export type AttachedPictures = ReadonlyMap<string, string>

export type MailSource = {
  html: string
  /** Whether to load pictures from other servers. */
  remote: boolean
  /** The host of the dashboard, from which a mail loads nothing. */
  ownHost: string
  pictures?: AttachedPictures | undefined
}

const most = {
  depth: 200,
  elements: 8_000,
  /** With those that are not shown. The parser takes longer the more of them are open. */
  tags: 40_000,
  text: 300_000,
  attribute: 500,
  url: 4_000,
  /** In characters of all `data:` addresses together. */
  pictures: 7_000_000,
  /** Content ids. An email has no more attachments. */
  wanted: 100,
  /** A stored content id has up to 255 characters, each of which can be encoded. */
  contentIdUrl: 800,
  /** Columns and rows that cells cover besides their own. */
  spans: 1_000,
}

const words = (text: string): Set<string> => new Set(text.trim().split(/\s+/))

const elements = words(`
  a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del dfn dir
  div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol p pre q rp rt
  ruby s samp section small span strike strong sub sup table tbody td tfoot th thead time tr tt u ul var wbr
`)
/** What is inside them is not shown. Of other elements that are not listed, it is. */
const hidden = words(`
  applet canvas datalist frameset iframe math noembed noframes object script select style svg template textarea title
`)
const attributes = words(`
  align alt bgcolor border cellpadding cellspacing class color dir face height hspace id lang nowrap size start text
  title type valign value vspace width
`)
const spans = words('colspan rowspan span')

/** The address of a picture on another server. */
const remoteAddress = (url: string, ownHost: string): string | undefined => {
  if (!/^(?:https?:)?\/\//i.test(url) || url.length > most.url) return undefined
  const parsed = URL.parse(url.startsWith('//') ? `https:${url}` : url)
  const isOwn = parsed?.hostname === ownHost
  return parsed && !isOwn && parsed.username === '' && parsed.password === '' ? parsed.href : undefined
}

/** The content id in a `cid:` address. They are ASCII, so each escape is one character. */
const contentIdIn = (url: string): string | undefined => {
  if (!/^cid:./i.test(url) || url.length > most.contentIdUrl) return undefined
  return url.slice(4).replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** A picture of one pixel shows nothing: it only reports to the sender that the mail was opened. */
const isPixel = ({ width, height }: Attributes): boolean =>
  [width, height].some((size) => /^[01](?:px)?$/.test(size ?? ''))

const makePictures = ({ remote, ownHost, pictures }: MailSource) => {
  let left = most.pictures
  let blocked = 0
  const wanted = new Set<string>()
  const embedded = (url: string): string | undefined => {
    if (url.length > left || !photograph.test(url)) return undefined
    left -= url.length
    return url
  }
  const attached = (id: string): string | undefined => {
    if (wanted.size < most.wanted) wanted.add(id)
    const url = pictures?.get(id)
    return url === undefined ? undefined : embedded(url)
  }
  const check = (address: string, isMissed: boolean): string | undefined => {
    const url = address.trim()
    if (/^data:/i.test(url)) return embedded(url)
    const id = contentIdIn(url)
    if (id !== undefined) return attached(id)
    const there = remoteAddress(url, ownHost)
    if (there !== undefined && !remote && isMissed) blocked++
    return remote ? there : undefined
  }
  const inStyle: CheckUrl = (url) => check(url, true)
  return { check, inStyle, blocked: () => blocked, wanted: () => [...wanted] }
}

type Pictures = ReturnType<typeof makePictures>

/** Cells that cover thousands of columns make a table as large as they like. */
const makeSpans = () => {
  let left = most.spans
  return (value: string): string | undefined => {
    const count = /^\d{1,4}$/.test(value) ? Number(value) : 1
    if (count < 2 || count > left) return undefined
    left -= count
    return String(count)
  }
}

const makeAttributes = (pictures: Pictures) => {
  const spanOf = makeSpans()
  const styleOf = ({ style, background }: Attributes): string => {
    const url = background === undefined ? undefined : pictures.inStyle(background)
    const kept = style === undefined ? '' : cleanStyle(style, pictures.inStyle)
    return url === undefined ? kept : `background-image:url("${url}");${kept}`
  }
  const plain = (name: string, value: string): string | undefined => {
    if (spans.has(name)) return spanOf(value)
    return attributes.has(name) ? value.slice(0, most.attribute) : undefined
  }
  return (element: string, given: Attributes): Attributes => {
    const kept: Attributes = {}
    for (const name in given) {
      const value = plain(name, given[name] as string)
      if (value !== undefined) kept[name] = value
    }
    const style = styleOf(given)
    if (style !== '') kept.style = style
    // A link leads nowhere. Its target can be read.
    if (element === 'a' && given.href) kept.title = given.href.slice(0, most.attribute)
    const src = element === 'img' && given.src ? pictures.check(given.src, !isPixel(given)) : undefined
    if (src !== undefined) kept.src = src
    return kept
  }
}

/** Ends the reading of a mail that has more than is shown. */
class Enough extends Error {}

type OpenElement = 'shown' | 'left out' | 'hidden' | 'style'

const read = (source: MailSource): CleanMail => {
  const pictures = makePictures(source)
  const attributesOf = makeAttributes(pictures)
  const mail: CleanMail = { steps: [], css: '', body: {}, blocked: 0, wanted: [], cut: false }
  const sheets: string[] = []
  const open: OpenElement[] = []
  let [tags, shown, shownDepth, hiddenDepth, characters] = [0, 0, 0, 0, 0]

  const begin = (name: string, given: Attributes): OpenElement => {
    if (hiddenDepth > 0 || hidden.has(name)) return name === 'style' ? 'style' : 'hidden'
    if (name === 'body') mail.body = attributesOf(name, given)
    if (!elements.has(name) || shownDepth >= most.depth) return 'left out'
    if (++shown > most.elements) throw new Enough()
    mail.steps.push([name, attributesOf(name, given)])
    return 'shown'
  }
  const addText = (text: string): void => {
    const kept = text.slice(0, most.text - characters)
    characters += kept.length
    const last = mail.steps.length - 1
    if (typeof mail.steps[last] === 'string') mail.steps[last] += kept
    else mail.steps.push(kept)
    if (kept.length < text.length) throw new Enough()
  }

  const parser = new Parser({
    onopentag: (name, given) => {
      if (++tags > most.tags) throw new Enough()
      const kind = begin(name, given)
      open.push(kind)
      if (kind === 'shown') shownDepth++
      else if (kind !== 'left out') hiddenDepth++
    },
    ontext: (text) => {
      if (open.at(-1) === 'style') sheets.push(text)
      else if (hiddenDepth === 0) addText(text)
    },
    onclosetag: () => {
      const kind = open.pop()
      if (kind === 'shown') {
        shownDepth--
        mail.steps.push(0)
      } else if (kind !== 'left out') hiddenDepth--
    },
  })
  try {
    parser.end(source.html)
  } catch (error) {
    if (!(error instanceof Enough)) throw error
    mail.cut = true
  }
  mail.css = cleanSheets(sheets, pictures.inStyle)
  mail.blocked = pictures.blocked()
  mail.wanted = pictures.wanted()
  return mail
}

export const cleanMail = (source: MailSource): CleanMail => read(source)
