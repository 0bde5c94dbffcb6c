/** Headers that are text: which names a caller may give, and how a value stands on the wire. */
import { encodeWord } from 'nodemailer/lib/mime-funcs'

/**
 * Written here, by the relay on the way, or read by a vendor as an order. The API refuses these names and the composer
 * leaves them out, by this one list: what is accepted is sent.
 */
const ownNames =
  /^(?:from|sender|to|cc|bcc|reply-to|subject|date|message-id|mime-version|content-.*|dkim-signature|return-path|received|x-service-.*|x-ses-.*)$/i

export const isOwnHeader = (name: string): boolean => ownNames.test(name)

/** What no header can carry: control characters, line ends above all, and halves of characters. */
export const oneLine = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  text.toWellFormed().replace(/[\x00-\x1f\x7f]+/g, ' ')

/**
 * A line has at most 998 characters (RFC 5322). A word of this length fits with the longest name before it, or with
 * the longest gap and the ends of brackets around it.
 */
const longestWord = 860
const longestGap = 100

/**
 * What cannot stand as it was given. A word that looks encoded can: whoever writes one has made the header ready, and
 * encoded again it would not be the bytes that were given.
 */
const unfit = new RegExp(`[^ -~]|[^ ]{${longestWord + 1}}| {${longestGap}}`)

/** Each word with the gap before it, and the gap at the end. Encoded words may not stand in quotes or brackets. */
const pieces = /( *)((?:"(?:[^"\\]|\\.)*"|<[^<>]*>|[^ ])+|$)/g

/** As encoded words (RFC 2047), in the encoding that leaves most of it legible. */
const encoded = (text: string): string => {
  const letters = text.match(/[a-z0-9]/gi)?.length ?? 0
  return encodeWord(text, letters * 2 > text.length ? 'Q' : 'B', 52)
}

/** Only the words that need it are encoded. Neighbours are so together: the gap between two is not read. */
const withEncodedWords = (text: string): string => {
  let out = ''
  let run = ''
  for (const [, gap = '', word = ''] of text.matchAll(pieces)) {
    if (unfit.test(word)) {
      if (run === '') out += gap
      run += run === '' ? word : gap + word
    } else {
      out += (run === '' ? '' : encoded(run)) + gap + word
      run = ''
    }
  }
  return run === '' ? out : out + encoded(run)
}

const textValue = (value: string): string =>
  value.includes(' '.repeat(longestGap)) ? encoded(value) : withEncodedWords(value)

/** White space within the brackets is not read (RFC 2369), so that a URL may be cut. */
const cutBrackets = (bracketed: string): string =>
  `< ${bracketed.slice(1, -1).replace(new RegExp(`[^ ]{${longestWord}}(?=[^ ])`, 'g'), '$& ')} >`

/** Programs read the URLs in brackets and decode no words there: they go as URIs, cut only if they must be. */
const listValue = (value: string): string => {
  const written = value
    .replace(new RegExp(` {${longestGap},}`, 'g'), ' ')
    .split(/(<[^<>]*>)/)
    .map((part, at) => (at % 2 === 0 ? withEncodedWords(part) : part.replace(/[^ -~]+/g, encodeURIComponent)))
    .join('')
  if (!unfit.test(written)) return written
  return written
    .replace(/>,(?=<)/g, '>, ')
    .replace(/(?:<[^<>]*>|[^ ])+/g, (item) => (unfit.test(item) ? item.replace(/<[^<>]*>/g, cutBrackets) : item))
}

/** Folded before spaces that are there already: unfolded, it is what was written. An empty value is no header. */
const folded = (name: string, value: string): string => {
  if (value === '') return ''
  let out = `${name}: `
  if (out.length + value.length <= 76) return out + value
  let length = out.length
  for (const [piece] of value.matchAll(/ *[^ ]+/g)) {
    if (length + piece.length > 76 && piece.startsWith(' ')) {
      out += '\r\n'
      length = 0
    }
    out += piece
    length += piece.length
  }
  return out
}

/** The lines of a header; a value of ASCII goes as it was given. */
export const headerLines = (name: string, text: string): string => {
  const value = oneLine(text).trim()
  if (!unfit.test(value)) return folded(name, value)
  return folded(name, /^list-/i.test(name) ? listValue(value) : textValue(value))
}

/** Encoded as a whole where it must be: it is for eyes, and some mail programs lose spaces beside encoded words. */
export const subjectLines = (text: string): string => {
  const value = oneLine(text).trim()
  return folded('Subject', unfit.test(value) ? encoded(value) : value)
}
