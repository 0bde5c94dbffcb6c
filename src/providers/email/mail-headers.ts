/** Text headers: which names a caller may set, and how values are encoded and folded. */
import { encodeWord } from 'nodemailer/lib/mime-funcs'

/**
 * Headers that the composer or a relay writes, or that a vendor interprets. The API rejects these names and
 * `composeMime` leaves them out. Both use this list, so every header that the API accepts is sent.
 */
const reservedNames =
  /^(?:from|sender|to|cc|bcc|reply-to|subject|date|message-id|mime-version|content-.*|dkim-signature|return-path|received|x-service-.*|x-ses-.*)$/i

export const isReservedHeader = (name: string): boolean => reservedNames.test(name)

/** Replaces what a header cannot contain: control characters, line ends included, and lone surrogates. */
export const oneLine = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
  text.toWellFormed().replace(/[\x00-\x1f\x7f]+/g, ' ')

/**
 * A line has at most 998 characters (RFC 5322). A word of `maxWord` characters fits on a line with the longest header
 * name, or with `maxGap` spaces and a pair of brackets.
 */
const maxWord = 860
const maxGap = 100

/**
 * Matches text that must be encoded. A word that is already encoded does not match: encoding it again would change
 * the bytes that the caller wrote.
 */
const needsEncoding = new RegExp(`[^ -~]|[^ ]{${maxWord + 1}}| {${maxGap}}`)

/**
 * Matches each word with the spaces before it, and trailing spaces. Text in quotes or brackets is one word, because
 * encoded words are not allowed inside them.
 */
const wordPattern = /( *)((?:"(?:[^"\\]|\\.)*"|<[^<>]*>|[^ ])+|$)/g

/** Writes text as encoded words (RFC 2047): Q where most characters stay legible, otherwise B. */
const encodeText = (text: string): string => {
  const letters = text.match(/[a-z0-9]/gi)?.length ?? 0
  return encodeWord(text, letters * 2 > text.length ? 'Q' : 'B', 52)
}

/** Encodes only the words that need it. Adjacent ones are encoded together: readers drop the space between two. */
const withEncodedWords = (text: string): string => {
  let out = ''
  let run = ''
  for (const [, gap = '', word = ''] of text.matchAll(wordPattern)) {
    if (needsEncoding.test(word)) {
      if (run === '') out += gap
      run += run === '' ? word : gap + word
    } else {
      out += (run === '' ? '' : encodeText(run)) + gap + word
      run = ''
    }
  }
  return run === '' ? out : out + encodeText(run)
}

const textValue = (value: string): string =>
  value.includes(' '.repeat(maxGap)) ? encodeText(value) : withEncodedWords(value)

/** Splits a long URL in brackets. Readers ignore white space there (RFC 2369). */
const splitBrackets = (bracketed: string): string =>
  `< ${bracketed.slice(1, -1).replace(new RegExp(`[^ ]{${maxWord}}(?=[^ ])`, 'g'), '$& ')} >`

/** Readers do not decode encoded words in brackets, so URLs are percent-encoded, and split only when they must be. */
const listValue = (value: string): string => {
  const escaped = value
    .replace(new RegExp(` {${maxGap},}`, 'g'), ' ')
    .split(/(<[^<>]*>)/)
    .map((part, at) => (at % 2 === 0 ? withEncodedWords(part) : part.replace(/[^ -~]+/g, encodeURIComponent)))
    .join('')
  if (!needsEncoding.test(escaped)) return escaped
  return escaped
    .replace(/>,(?=<)/g, '>, ')
    .replace(/(?:<[^<>]*>|[^ ])+/g, (item) =>
      needsEncoding.test(item) ? item.replace(/<[^<>]*>/g, splitBrackets) : item,
    )
}

/** Folds only before existing spaces, so that unfolding restores the value. An empty value yields no header. */
const folded = (name: string, value: string): string => {
  if (value === '') return ''
  let out = `${name}: `
  if (out.length + value.length <= 76) return out + value
  let length = out.length
  for (const [word] of value.matchAll(/ *[^ ]+/g)) {
    if (length + word.length > 76 && word.startsWith(' ')) {
      out += '\r\n'
      length = 0
    }
    out += word
    length += word.length
  }
  return out
}

/** The lines of a header. An ASCII value is written unchanged. */
export const headerLines = (name: string, text: string): string => {
  const value = oneLine(text).trim()
  if (!needsEncoding.test(value)) return folded(name, value)
  return folded(name, /^list-/i.test(name) ? listValue(value) : textValue(value))
}

/**
 * Encodes the whole subject when any of it needs encoding: some mail clients drop spaces next to encoded words. Text that
 * looks like an encoded word is encoded too, because readers would decode it.
 */
export const subjectLines = (text: string): string => {
  const value = oneLine(text).trim()
  return folded('Subject', needsEncoding.test(value) || value.includes('=?') ? encodeText(value) : value)
}
