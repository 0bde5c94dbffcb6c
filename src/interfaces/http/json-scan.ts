/**
 * Counts the values and the depth of JSON text without parsing it, and stops at the first bound that the text exceeds.
 * The cost of parsing and validating a body grows with its values more than with its bytes. The scan does not check the
 * grammar, because parsing does.
 */
import { startSlices } from '../../platform/ground/event-loop-turns.ts'

export type JsonBounds = {
  depth: number
  /** The root, elements and members all count. */
  values: number
  /** For a body that may be a list: how many elements it may have. `values` then applies to each of them. */
  elements?: number
}

export type JsonFault = 'depth' | 'values' | 'elements' | 'syntax'

/** Where an element of the list is in the text. */
export type ElementRange = { start: number; end: number }

export type ScanResult = {
  fault: JsonFault | undefined
  /** For a fault of depth, the first steps of the path to it. */
  path?: (string | number)[]
  /** Set when the root is a list and its elements are bounded. */
  elements: ElementRange[] | undefined
}

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]
const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/**
 * How many steps of a path are kept. Variables are the deepest values that any request takes, and their field, their key
 * and ten levels make twelve.
 */
const pathSteps = 12

/** A container on the way to the present byte: the key or the place of its present value. */
type Container = { isList: boolean; place: number; keyAt: number | undefined }

/** The key that begins at that quote. Undefined if it is no valid string. */
const keyFrom = (bytes: Buffer, start: number): string | undefined => {
  let end = start + 1
  while (end < bytes.length && bytes[end] !== quote) end += bytes[end] === backslash ? 2 : 1
  try {
    return JSON.parse(bytes.toString('utf8', start, end + 1))
  } catch {
    return undefined
  }
}

const pathThrough = (bytes: Buffer, containers: readonly Container[]): (string | number)[] => {
  const path: (string | number)[] = []
  for (const { isList, place, keyAt } of containers) {
    const step = isList ? place : keyAt === undefined ? undefined : keyFrom(bytes, keyAt)
    if (step === undefined) break
    path.push(step)
  }
  return path
}

/** After this many bytes of a string, its end is searched for. Calling the search for each short string is slower. */
const longString = 256

/** Finds the next occurrence of a byte, and remembers it, so that each byte of the text is searched once. */
const makeFinder = (bytes: Buffer, wanted: number) => {
  let found = -1
  return (from: number): number => {
    if (found < from) {
      const next = bytes.indexOf(wanted, from)
      found = next < 0 ? bytes.length : next
    }
    return found
  }
}

/** Returns a function that reads on by a number of bytes, and returns undefined until the scan is complete. */
export const makeScan = (bytes: Buffer, bounds: JsonBounds): ((steps: number) => ScanResult | undefined) => {
  const nextQuote = makeFinder(bytes, quote)
  const nextBackslash = makeFinder(bytes, backslash)
  const ranges: ElementRange[] = []
  /** The outermost containers that are open, up to the steps of a path. */
  const containers: Container[] = []
  let at = 0
  let depth = 0
  let values = 1
  let start = 0
  let inString = false
  /** A container was opened, and none of its values has been seen. */
  let isFresh = false
  let root: 'unseen' | 'list' | 'other' | 'closed list' = 'unseen'
  let fault: JsonFault | undefined

  const countValue = (): void => {
    values++
    if (values > bounds.values) fault ??= 'values'
  }

  const startElement = (from: number): void => {
    start = from
    values = 1
    if (ranges.length >= (bounds.elements ?? 0)) fault ??= 'elements'
  }

  const startValue = (): void => {
    isFresh = false
    if (depth === 1 && root === 'list') startElement(at)
    else countValue()
  }

  const open = (byte: number): void => {
    if (depth < pathSteps) containers[depth] = { isList: byte === openList, place: 0, keyAt: undefined }
    depth++
    isFresh = true
    if (depth > bounds.depth) fault ??= 'depth'
  }

  const close = (byte: number): void => {
    depth--
    if (depth === 0 && root === 'list') {
      if (!isFresh) ranges.push({ start, end: at })
      root = 'closed list'
      if (byte !== closeList) fault ??= 'syntax'
    }
    isFresh = false
  }

  const separate = (): void => {
    const container = depth <= pathSteps ? containers[depth - 1] : undefined
    if (container) {
      container.place++
      container.keyAt = undefined
    }
    if (depth === 1 && root === 'list') {
      ranges.push({ start, end: at })
      startElement(at + 1)
    } else countValue()
  }

  const readByte = (byte: number): void => {
    if (root === 'unseen') root = bounds.elements !== undefined && byte === openList ? 'list' : 'other'
    else if (root === 'closed list') fault ??= 'syntax'
    if (byte === closeList || byte === closeObject) {
      close(byte)
      return
    }
    if (isFresh) startValue()
    if (byte === openList || byte === openObject) open(byte)
    else if (byte === comma) separate()
    else if (byte === quote) {
      inString = true
      const container = depth <= pathSteps ? containers[depth - 1] : undefined
      // The first string of a member is its key.
      if (container) container.keyAt ??= at
    }
  }

  /**
   * Moves past the end of the string, or past a backslash and what it escapes. Returns the number of bytes that were
   * compared one by one.
   */
  const readString = (): number => {
    const from = at
    const searchFrom = Math.min(from + longString, bytes.length)
    let next = from
    while (next < searchFrom && bytes[next] !== quote && bytes[next] !== backslash) next++
    const compared = next - from + 1
    if (next === searchFrom) next = Math.min(nextQuote(next), nextBackslash(next))
    if (bytes[next] === backslash) next++
    else inString = false
    at = next + 1
    return compared
  }

  const read = (steps: number): void => {
    let left = steps
    while (left > 0 && at < bytes.length && !fault) {
      if (inString) left -= readString()
      else {
        const byte = bytes[at] as number
        if (!isSpace(byte)) readByte(byte)
        at++
        left--
      }
    }
  }

  return (steps) => {
    read(steps)
    if (!fault && at < bytes.length) return undefined
    const isList = root === 'list' || root === 'closed list'
    if (root === 'list') fault ??= 'syntax'
    const elements = isList && !fault ? ranges : undefined
    return { fault, elements, ...(fault === 'depth' && { path: pathThrough(bytes, containers) }) }
  }
}

/** Takes a few milliseconds. */
const stepsPerTurn = 250_000

/** Scans large text over several turns of the event loop. */
export const scanJson = async (bytes: Buffer, bounds: JsonBounds): Promise<ScanResult> => {
  const scan = makeScan(bytes, bounds)
  const slices = startSlices()
  for (;;) {
    const result = scan(stepsPerTurn)
    if (result) return result
    await slices.next()
  }
}
