import { isUtf8 } from 'node:buffer'
import { type Failure, invalid, malformed } from '../../platform/ground/errors.ts'
import { startSlices } from '../../platform/ground/event-loop-turns.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import { unstorable } from '../../platform/ground/validate.ts'
import { type ElementRange, type JsonBounds, type JsonFault, makeScan, type ScanResult, scanJson } from './json-scan.ts'

export { validate } from '../../platform/ground/validate.ts'

/** Escapes that may decode to NUL or to half of a surrogate pair. PostgreSQL cannot store either as text. */
const suspectEscape = /\\u(?:0000|[dD][89a-fA-F])/

/** Deeper than any valid body. The limit keeps code that walks or serializes the value from overflowing the stack. */
const maxDepth = 200

/** More values than the largest body of an ordinary route has: a thousand suppressions. */
export const ordinaryValues = 10_000

/** Larger bodies are read over several turns of the event loop. */
export const largeBody = 262_144

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

const failureOf = (fault: JsonFault, path: ScanResult['path'], { values, elements }: JsonBounds): Failure => {
  switch (fault) {
    case 'depth':
      return malformed('The body is nested too deeply.', path)
    case 'elements':
      return invalid([], 'too_big', `Must have at most ${elements} elements.`)
    case 'values':
      return malformed(`The body has too many values: ${elements ? 'each element' : 'it'} can have ${values} at most.`)
    case 'syntax':
      return malformed('The body must be valid JSON.')
  }
}

/** Parses text that has passed its bounds. Also rejects characters that cannot be stored. */
const parseText = (text: string, at: number[] = []): unknown => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed('The body must be valid JSON.')
  }
  if (text.includes('\\u') && suspectEscape.test(text)) {
    const path = unstorable(value)
    if (path) {
      throw malformed('Contains a character that cannot be stored (NUL or an unpaired surrogate).', [...at, ...path])
    }
  }
  return value
}

const parseElements = async (bytes: Buffer, elements: ElementRange[]): Promise<unknown[]> => {
  const slices = startSlices()
  const list: unknown[] = []
  for (const [i, { start, end }] of elements.entries()) {
    list.push(parseText(bytes.toString('utf8', start, end), [i]))
    if (slices.over()) await slices.next()
  }
  return list
}

const parseLarge = async (bytes: Buffer, bounds: JsonBounds): Promise<unknown> => {
  const slices = startSlices()
  const { fault, path, elements } = await scanJson(bytes, bounds)
  if (fault) throw failureOf(fault, path, bounds)
  await slices.next()
  const value = elements ? await parseElements(bytes, elements) : parseText(bytes.toString('utf8'))
  await slices.next()
  return value
}

const parseSmall = (bytes: Buffer, bounds: JsonBounds): unknown => {
  const text = bytes.toString('utf8')
  // A text has at most one value for every two bytes.
  if (bytes.length / 2 > bounds.values || opensMany(text)) {
    const found = makeScan(bytes, bounds)(Number.POSITIVE_INFINITY)
    if (found?.fault) throw failureOf(found.fault, found.path, bounds)
  }
  return parseText(text)
}

/** Parses a JSON body within its bounds. Also rejects bytes that are not UTF-8 and characters that cannot be stored. */
export const parseJson = (bytes: Buffer, given: Partial<JsonBounds> = {}): MaybePromise<unknown> => {
  if (!isUtf8(bytes)) throw malformed('The body must be UTF-8.')
  const bounds = { depth: maxDepth, values: ordinaryValues, ...given }
  return bytes.length > largeBody ? parseLarge(bytes, bounds) : parseSmall(bytes, bounds)
}

/** Whether a path parameter is a place in a list, from 0. */
export const isPosition = (text: string): boolean => /^(?:0|[1-9]\d{0,3})$/.test(text)

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
