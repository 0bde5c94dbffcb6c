import { isUtf8 } from 'node:buffer'
import { malformed } from '../ground/errors.ts'
import { unstorable } from '../ground/validate.ts'

export { validate } from '../ground/validate.ts'

/** Escapes that can stand for NUL or half a surrogate pair: neither can be stored as text. */
const suspectEscape = /\\u(?:0000|[dD][89a-fA-F])/

/** Deeper than any body of ours: whatever walks or writes the value later must not run out of stack. */
const maxDepth = 200

/** Whether there are brackets enough for that at all, which is cheap to say. */
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

/** The JSON of a body. Bytes that are not UTF-8 text and text that cannot be stored are refused with the rest. */
export const parseJson = (bytes: Buffer): unknown => {
  if (!isUtf8(bytes)) throw malformed('The body is not UTF-8.')
  const text = bytes.toString('utf8')
  if (opensMany(text) && tooDeep(bytes)) throw malformed('Nested too deeply.')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed('The body is not JSON.')
  }
  if (suspectEscape.test(text)) {
    const path = unstorable(value)
    if (path) throw malformed('Holds a character that cannot be stored.', path)
  }
  return value
}

/** Query values as strings; a repeated name is refused rather than guessed at. */
export const readQuery = (query: unknown): Record<string, string> => {
  const out: Record<string, string> = {}
  for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
    if (typeof value !== 'string') throw malformed('Given more than once.', [name])
    if (value.includes('\0') || name.includes('\0')) throw malformed('Holds a character that cannot be stored.', [name])
    out[name] = value
  }
  return out
}
