/**
 * Converts HTML to plain text, for readers that do not show HTML. Each character is read once, and the work runs in
 * slices.
 */
import { Tokenizer } from 'htmlparser2'
import { startSlices } from '../../platform/ground/event-loop-turns.ts'
import { makePlainText, type PlainText } from './plain-text.ts'

/** In characters. A chunk is parsed in one go, in well under a slice. */
const chunkLength = 16_384

/** Elements with an empty line before and after them. */
const paragraphs = new Set('p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre hr fieldset figure form'.split(' '))
/** Other elements that start on a new line. */
const blocks = new Set(
  'div li tr dt dd section article header footer nav main aside address center figcaption caption body'.split(' '),
)
/** Elements whose content is not shown. */
const hidden = new Set('script style title textarea iframe noembed noframes template'.split(' '))

/** Longer than every name above. A longer name is not compared. */
const maxNameLength = 12
/** A longer URL is left out. */
const maxUrlLength = 4_096
/** Deeper lists are not numbered. */
const maxListDepth = 100

/** Fills a preview line with nothing visible, or allows a word to be split. */
const isInvisible = (codepoint: number): boolean =>
  codepoint === 0x200b || codepoint === 0x200c || codepoint === 0xad || codepoint === 0x34f || codepoint === 0xfeff

/** What a link shows of its target: a web address, or the address of a mailto or tel link. */
const shownTarget = (href: string): string | undefined => {
  const target = href.replace(/[\t\n\r]/g, '').trim()
  if (target.length > maxUrlLength) return undefined
  if (/^https?:\/\//i.test(target)) return target
  return /^(?:mailto|tel):([^?]+)/i.exec(target)?.[1]
}

const makeElements = (text: PlainText) => {
  /** The number of the latest item of each open list. Null for a list without numbers. */
  const lists: (number | null)[] = []
  /** The target of the open link. */
  let target: string | undefined

  /** Adds the target, unless the text of the link already is the target. */
  const endLink = (): void => {
    const shown = text.remembered()
    if (target !== undefined && shown !== target) text.words(shown === '' ? target : ` <${target}>`)
    target = undefined
  }

  const startItem = (): void => {
    const number = lists.at(-1)
    text.startLine(1)
    if (typeof number === 'number') lists[lists.length - 1] = number + 1
    text.label(typeof number === 'number' ? `${number + 1}. ` : '- ')
  }

  const separate = (name: string): void => {
    if (paragraphs.has(name)) text.startLine(2)
    else if (blocks.has(name)) text.startLine(1)
    else if (name === 'td' || name === 'th') text.words(' ')
  }

  return {
    open: (name: string, value: string): void => {
      separate(name)
      if (name === 'a') {
        endLink()
        target = shownTarget(value)
        text.remember(maxUrlLength)
      } else if (name === 'img') text.words(value)
      else if (name === 'br') text.breakLine()
      else if (name === 'li') startItem()
      else if ((name === 'ul' || name === 'ol') && lists.length < maxListDepth) lists.push(name === 'ol' ? 0 : null)
    },
    close: (name: string): void => {
      if (name === 'a') endLink()
      else if (name === 'li') text.label('')
      else if (name === 'ul' || name === 'ol') lists.pop()
      separate(name)
    },
    end: endLink,
  }
}

/** The attribute of each element that the text shows. */
const shownAttribute: Record<string, string> = { a: 'href', img: 'alt' }

const makeTokenizer = (html: string, text: PlainText): { tokenizer: Tokenizer; end: () => void } => {
  const elements = makeElements(text)
  let name = ''
  let value = ''
  let reading = false
  let isRead = false
  /** The element whose content is being left out. */
  let hiddenName: string | undefined
  let preformatted = 0

  const nameAt = (start: number, end: number): string =>
    end - start > maxNameLength ? '' : html.slice(start, end).toLowerCase()
  const addText = (added: string): void => {
    if (hiddenName !== undefined) return
    if (preformatted > 0) text.lines(added)
    else text.words(added)
  }
  const openTag = (): void => {
    if (hiddenName !== undefined) return
    if (hidden.has(name)) hiddenName = name
    else elements.open(name, value)
    if (name === 'pre') preformatted++
  }
  const ignore = () => undefined
  const tokenizer = new Tokenizer(
    {},
    {
      onopentagname: (start, end) => {
        name = nameAt(start, end)
        value = ''
        reading = false
        isRead = false
      },
      onattribname: (start, end) => {
        reading = !isRead && nameAt(start, end) === shownAttribute[name]
      },
      onattribdata: (start, end) => {
        if (reading) value += html.slice(start, end)
      },
      onattribentity: (codepoint) => {
        if (reading) value += String.fromCodePoint(codepoint)
      },
      onattribend: () => {
        isRead ||= reading
        reading = false
      },
      onopentagend: openTag,
      onselfclosingtag: openTag,
      onclosetag: (start, end) => {
        const closed = nameAt(start, end)
        if (hiddenName !== undefined) {
          if (closed === hiddenName) hiddenName = undefined
          return
        }
        if (closed === 'pre') preformatted = Math.max(0, preformatted - 1)
        elements.close(closed)
      },
      ontext: (start, end) => addText(html.slice(start, end)),
      ontextentity: (codepoint) => {
        if (!isInvisible(codepoint)) addText(String.fromCodePoint(codepoint))
      },
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onprocessinginstruction: ignore,
    },
  )
  return { tokenizer, end: elements.end }
}

export const htmlToText = async (html: string): Promise<string> => {
  const slices = startSlices()
  const text = makePlainText()
  const { tokenizer, end } = makeTokenizer(html, text)
  for (let at = 0; at < html.length; at += chunkLength) {
    tokenizer.write(html.slice(at, at + chunkLength))
    if (slices.over()) await slices.next()
  }
  tokenizer.end()
  end()
  return text.join()
}
