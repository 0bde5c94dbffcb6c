/** JSON with keys in one order, so that two texts of the same value compare equal. */

/** Deeper than any body of ours; a hostile one must not exhaust the stack. */
const maxDepth = 200

export class TooDeep extends Error {}

const write = (value: unknown, depth: number): string => {
  if (depth > maxDepth) throw new TooDeep('nested too deeply')
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const record = value as Record<string, unknown>
    // Array.prototype.sort compares UTF-16 code units, which is the order meant.
    const parts = Object.keys(record)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${write(record[key], depth + 1)}`)
    return `{${parts.join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}

export const canonicalJson = (value: unknown): string => write(value, 0)
