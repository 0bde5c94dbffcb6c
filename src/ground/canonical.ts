/** JSON with sorted keys, so that equal values give equal texts. */
import { createHash } from 'node:crypto'
import { makeTurns } from './turns.ts'

/** More than any valid body needs. Without a limit, a hostile body could exhaust the stack. */
const maxDepth = 200

/** Array.prototype.sort compares UTF-16 code units, which is the intended order. */
const sortedKeys = (record: object): string[] => Object.keys(record).sort()

const write = (value: unknown, depth: number): string => {
  if (depth > maxDepth) throw new RangeError('the value is nested too deeply')
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const record = value as Record<string, unknown>
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
  const endTurn = makeTurns()
  for (const piece of piecesOf(value)) {
    hash.update(piece)
    await endTurn()
  }
  return hash.digest()
}
