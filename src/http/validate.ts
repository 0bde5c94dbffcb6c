import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { Failure, type FieldError } from '../ground/errors.ts'
import { malformed } from './envelope.ts'

type Issue = z.core.$ZodIssue

const codeOf = (issue: Issue): string => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'required' : 'invalid_type'
    case 'too_small':
      return 'too_small'
    case 'too_big':
      return 'too_big'
    case 'invalid_format':
      return 'invalid_string'
    case 'invalid_value':
      return issue.input === undefined ? 'required' : 'invalid_enum'
    case 'unrecognized_keys':
      return 'unrecognized'
    default:
      return 'custom'
  }
}

const pathOf = (path: PropertyKey[]): (string | number)[] =>
  path.map((part) => (typeof part === 'number' ? part : String(part)))

const rowsOf = (issue: Issue): FieldError[] => {
  // One row per misspelt name, at its own path, so that a client can point at it.
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...pathOf(issue.path), key],
      code: 'unrecognized',
      message: 'There is no such field.',
    }))
  }
  const code = codeOf(issue)
  return [{ path: pathOf(issue.path), code, message: code === 'required' ? 'Required.' : issue.message }]
}

/** At most this many rows: the rest would only grow the answer to a hostile body. */
const maxRows = 100

/** The value the schema makes of the input, or VALIDATION_ERROR with a row per fault. */
export const validate = <T>(schema: z.ZodType<T>, input: unknown): T => {
  let result: z.ZodSafeParseResult<T>
  try {
    result = schema.safeParse(input, { reportInput: true })
  } catch (error) {
    if (error instanceof RangeError) throw malformed('Nested too deeply.')
    throw error
  }
  if (result.success) return result.data
  const cursorFault = result.error.issues.find((issue) => issue.code === 'custom' && issue.params?.cursor)
  if (cursorFault) throw new Failure('INVALID_CURSOR')
  throw new Failure('VALIDATION_ERROR', { errors: result.error.issues.flatMap(rowsOf).slice(0, maxRows) })
}

/** Escapes that can stand for NUL or half a surrogate pair: neither can be stored as text. */
const suspectEscape = /\\u(?:0000|[dD][89a-fA-F])/

const unstorable = (value: unknown, path: (string | number)[]): (string | number)[] | undefined => {
  if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed() ? path : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (path.length > 200) return path
  for (const [key, item] of Object.entries(value)) {
    if (key.includes('\0') || !key.isWellFormed()) return path
    const found = unstorable(item, [...path, Array.isArray(value) ? Number(key) : key])
    if (found) return found
  }
  return undefined
}

/** The JSON of a body. Bytes that are not UTF-8 text and text that cannot be stored are refused with the rest. */
export const parseJson = (bytes: Buffer): unknown => {
  if (!isUtf8(bytes)) throw malformed('The body is not UTF-8.')
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed('The body is not JSON.')
  }
  if (suspectEscape.test(text)) {
    const path = unstorable(value, [])
    if (path) throw malformed('Holds a character that cannot be stored.', path)
  }
  return value
}

/** Query values as strings; a repeated name is refused rather than guessed at. */
export const readQuery = (query: unknown): Record<string, string> => {
  const out: Record<string, string> = {}
  for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
    if (typeof value !== 'string') throw malformed('Given more than once.', [name])
    if (value.includes('\0') || name.includes('\0'))
      throw malformed('Holds a character that cannot be stored.', [name])
    out[name] = value
  }
  return out
}
