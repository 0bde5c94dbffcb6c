/** JSON with sorted keys, so that equal values give equal texts. */

/** More than any valid body needs. Without a limit, a hostile body could exhaust the stack. */
const maxDepth = 200

export class TooDeep extends Error {}

const write = (value: unknown, depth: number): string => {
  if (depth > maxDepth) throw new TooDeep('the value is nested too deeply')
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const record = value as Record<string, unknown>
    // Array.prototype.sort compares UTF-16 code units, which is the intended order.
    const parts = Object.keys(record)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${write(record[key], depth + 1)}`)
    return `{${parts.join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}

export const canonicalJson = (value: unknown): string => write(value, 0)
