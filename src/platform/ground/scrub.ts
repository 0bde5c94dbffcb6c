/**
 * Removes email addresses and phone numbers from what is logged. Relays and libraries quote them in their errors, so the
 * logger scrubs every text instead of trusting each caller. The cost of a record is bounded, whatever it contains.
 */

/** Longer texts are cut. A stack with its causes fits. */
const maxCharacters = 8_000
/** How far an address reaches to either side of its @. The longest valid address has 254 characters. */
const maxAddress = 320
const maxDepth = 6
const maxValues = 500
const maxFewFields = 20

const atSign = /@|%40/gi
/** The characters of a local part that is not quoted, and of a domain. Both include every character beyond ASCII. */
const localCharacter = /[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\-\u0080-\uffff]/
const domainCharacter = /[A-Za-z0-9._\-\u0080-\uffff]/
const phoneNumber = /(?:\+|%2B)[1-9]\d{6,14}/gi

const skipBack = (text: string, from: number, floor: number): number => {
  let start = from
  while (start > floor && localCharacter.test(text[start - 1] as string)) start--
  return start
}

/** In a path or URL only the last segment can be part of an address. */
const withoutPath = (text: string, start: number, end: number): number => {
  const local = text.slice(start, end)
  return local.startsWith('/') || local.includes('//') ? start + local.lastIndexOf('/') + 1 : start
}

/** The @ begins the name of a package, as in stacks and in errors about imports. */
const isPackage = (text: string, start: number, at: number): boolean =>
  text.endsWith('node_modules/', at) || text.slice(start, at) === "'"

const startOfLocal = (text: string, at: number, written: number): number => {
  const floor = Math.max(written, at - maxAddress)
  if (text[at - 1] !== '"') {
    const start = withoutPath(text, skipBack(text, at, floor), at)
    return isPackage(text, start, at) ? at : start
  }
  const opening = text.lastIndexOf('"', at - 2)
  return opening >= floor ? opening : at - 1
}

const endOfDomain = (text: string, from: number): number => {
  const ceiling = Math.min(text.length, from + maxAddress)
  if (text[from] === '[') {
    const closing = text.slice(from, ceiling).indexOf(']')
    return closing < 0 ? from : from + closing + 1
  }
  let end = from
  while (end < ceiling && domainCharacter.test(text[end] as string)) end++
  return end
}

const maskAddresses = (text: string): string => {
  let masked = ''
  let written = 0
  for (const { 0: sign, index } of text.matchAll(atSign)) {
    const start = startOfLocal(text, index, written)
    const end = endOfDomain(text, index + sign.length)
    if (index < written || start >= index || end === index + sign.length) continue
    masked += `${text.slice(written, start)}[address]`
    written = end
  }
  return masked + text.slice(written)
}

const mayHide = /[@+%]/

const isClean = (text: string): boolean => text.length <= maxCharacters && !mayHide.test(text)

export const scrubText = (text: string): string => {
  if (isClean(text)) return text
  const isLong = text.length > maxCharacters
  // A little more than is kept, so that an address at the cut is recognised.
  const considered = isLong ? text.slice(0, maxCharacters + 2 * maxAddress) : text
  const masked = maskAddresses(considered).replace(phoneNumber, '[number]')
  return isLong ? `${masked.slice(0, maxCharacters)}… (${text.length} characters)` : masked
}

type Left = { values: number }

const entriesOf = (value: object): [string, unknown][] => {
  const entries: [string, unknown][] = []
  for (const key in value) {
    if (entries.length === maxValues) break
    if (Object.hasOwn(value, key)) entries.push([key, value[key as keyof typeof value]])
  }
  return entries
}

/** Whether it is a plain object of a few clean texts and numbers, like the line of every request. */
const isCleanRecord = (value: object): boolean => {
  let fields = 0
  try {
    if (Object.getPrototypeOf(value) !== Object.prototype) return false
    for (const key in value) {
      const item: unknown = value[key as keyof typeof value]
      const clean = typeof item === 'string' ? isClean(item) : typeof item === 'number' || item === undefined
      if (!clean || !isClean(key) || ++fields > maxFewFields) return false
    }
    return true
  } catch {
    // A getter threw.
    return false
  }
}

/** Scrubs every text in a value. `showError` turns an error into a plain object. */
export const makeScrub = (showError: (error: Error) => unknown) => {
  const scrubObject = (value: object, depth: number, left: Left): unknown => {
    if (depth === maxDepth) return '[nested]'
    if (Array.isArray(value)) return value.slice(0, left.values).map((item) => scrubValue(item, depth + 1, left))
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
    const scrubbed: Record<string, unknown> = {}
    for (const [key, item] of entriesOf(value)) {
      if (left.values <= 0) break
      scrubbed[scrubText(key)] = scrubValue(item, depth + 1, left)
    }
    return scrubbed
  }

  const scrubValue = (value: unknown, depth: number, left: Left): unknown => {
    left.values--
    if (typeof value === 'string') return scrubText(value)
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    try {
      return scrubObject(plainObject(value), depth, left)
    } catch {
      // A getter or toJSON threw. Logging must not fail because of what is logged.
      return '[unreadable]'
    }
  }

  const plainObject = (value: object): object => {
    if (value instanceof Error) return showError(value) as object
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON !== 'function' || ArrayBuffer.isView(value)) return value
    const json: unknown = toJSON.call(value)
    return typeof json === 'object' && json !== null ? json : { value: json }
  }

  return (value: unknown): unknown =>
    typeof value === 'object' && value !== null && isCleanRecord(value)
      ? value
      : scrubValue(value, 0, { values: maxValues })
}
