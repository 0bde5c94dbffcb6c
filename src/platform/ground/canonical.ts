/** JSON with sorted keys, so that equal values give equal texts. */
import { createHash } from 'node:crypto'
import { startSlices } from './event-loop-turns.ts'

/** More than any valid body needs. Without a limit, a hostile body could exhaust the stack. */
const maxDepth = 200

/** Array.prototype.sort compares UTF-16 code units, which is the intended order. */
const sortedKeys = (record: object): string[] => Object.keys(record).sort()

const isPlainValue = (value: unknown): boolean =>
  value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/**
 * A copy with its keys in order, which is serialized at once. Undefined if a value is not plain, or if a key begins with a
 * digit or is `__proto__`: an object does not keep such keys in the order in which they were set.
 */
const flatInOrder = (record: Record<string, unknown>): object | undefined => {
  const ordered: Record<string, unknown> = {}
  for (const key of sortedKeys(record)) {
    const value = record[key]
    if (!isPlainValue(value) || key === '__proto__' || (key >= '0' && key < ':')) return undefined
    ordered[key] = value
  }
  return ordered
}

const write = (value: unknown, depth: number): string => {
  if (depth > maxDepth) throw new RangeError('the value is nested too deeply')
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const record = value as Record<string, unknown>
    const flat = flatInOrder(record)
    if (flat) return JSON.stringify(flat)
    const parts = sortedKeys(record).map((key) => `${JSON.stringify(key)}:${write(record[key], depth + 1)}`)
    return `{${parts.join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}

export const canonicalJson = (value: unknown): string => write(value, 0)

/** The same text in pieces: one for each element or member of the root. */
function* piecesOf(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield (i === 0 ? '[' : ',') + write(item, 1)
    yield value.length === 0 ? '[]' : ']'
  } else if (typeof value === 'object' && value !== null) {
    const record = value as Record<string, unknown>
    const keys = sortedKeys(record)
    for (const [i, key] of keys.entries()) yield `${i === 0 ? '{' : ','}${JSON.stringify(key)}:${write(record[key], 1)}`
    yield keys.length === 0 ? '{}' : '}'
  } else yield write(value, 0)
}

/** The SHA-256 of the prefix and the canonical JSON of a large value, computed over several turns of the event loop. */
export const hashCanonical = async (prefix: string, value: unknown): Promise<Buffer> => {
  const hash = createHash('sha256').update(prefix)
  const slices = startSlices()
  for (const piece of piecesOf(value)) {
    hash.update(piece)
    if (slices.over()) await slices.next()
  }
  return hash.digest()
}
