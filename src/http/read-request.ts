import { isUtf8 } from 'node:buffer'
import { malformed } from '../ground/errors.ts'
import { unstorable } from '../ground/validate.ts'

export { validate } from '../ground/validate.ts'

/** Escapes that may decode to NUL or to half of a surrogate pair. PostgreSQL cannot store either as text. */
const suspectEscape = /\\u(?:0000|[dD][89a-fA-F])/

/** Deeper than any valid body. The limit keeps code that walks or serializes the value from overflowing the stack. */
const maxDepth = 200

/** A cheap first check: whether the text has enough opening brackets to be nested that deeply. */
const opensMany = (json: string): boolean => {
  let opened = 0
  for (const bracket of '[{') {
    for (let at = json.indexOf(bracket); at >= 0; at = json.indexOf(bracket, at + 1)) {
      if (++opened > maxDepth) return true
    }
  }
  return false
}

const tooDeep = (json: Buffer): boolean => {
  let depth = 0
  let quoted = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (quoted) {
      if (byte === 0x5c) at++
      else if (byte === 0x22) quoted = false
    } else if (byte === 0x22) quoted = true
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > maxDepth) return true
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return false
}

/** Parses a JSON body. Also rejects bytes that are not UTF-8 and characters that cannot be stored. */
export const parseJson = (bytes: Buffer): unknown => {
  if (!isUtf8(bytes)) throw malformed('The body must be UTF-8.')
  const text = bytes.toString('utf8')
  if (opensMany(text) && tooDeep(bytes)) throw malformed('The body is nested too deeply.')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed('The body must be valid JSON.')
  }
  if (suspectEscape.test(text)) {
    const path = unstorable(value)
    if (path) throw malformed('Contains a character that cannot be stored (NUL or an unpaired surrogate).', path)
  }
  return value
}

/** Query parameters as strings. A repeated parameter is rejected instead of choosing one of its values. */
export const readQuery = (query: unknown): Record<string, string> => {
  const out: Record<string, string> = {}
  for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
    if (typeof value !== 'string') throw malformed('Must be given only once.', [name])
    // A cursor with such a character is refused like any other invalid cursor.
    if ((value.includes('\0') && name !== 'cursor') || name.includes('\0'))
      throw malformed('Contains a character that cannot be stored (NUL or an unpaired surrogate).', [name])
    out[name] = value
  }
  return out
}
