/** Where a keyset page ended: the last row's creation time (UTC text) and id. */
export type Position = { createdAt: string; id: string }

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** A day the calendar has, in a year the database has: Date.parse reads 31 February, and year 0 is no year there. */
const isInstant = (text: string): boolean => {
  const date = new Date(text)
  return !Number.isNaN(date.getTime()) && date.toISOString() === text && !text.startsWith('0000')
}

export const encodeCursor = ({ createdAt, id }: Position): string =>
  Buffer.from(JSON.stringify({ c: createdAt, i: id })).toString('base64url')

/** Undefined when the text is not a cursor this service made. */
export const decodeCursor = (text: string): Position | undefined => {
  if (!/^[A-Za-z0-9_-]{1,512}$/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (typeof value !== 'object' || value === null) return undefined
    const { c, i, ...rest } = value as Record<string, unknown>
    if (typeof c !== 'string' || typeof i !== 'string' || Object.keys(rest).length > 0) return undefined
    if (!instant.test(c) || !isInstant(c) || !/^[a-z]{3}_[0-9a-z]{26}$/.test(i)) return undefined
    // One text per position: a re-encoding that differs was not made here.
    return encodeCursor({ createdAt: c, id: i }) === text ? { createdAt: c, id: i } : undefined
  } catch {
    return undefined
  }
}

/** The parameters of a list statement: where its page starts, and how many rows it reads. */
export type Keyset = { afterAt: string | null; afterId: string | null; limit: number }

/** One row more than the page shows, which tells whether another page follows. */
export const keysetOf = ({ cursor, limit }: { cursor?: Position | undefined; limit: number }): Keyset => ({
  afterAt: cursor?.createdAt ?? null,
  afterId: cursor?.id ?? null,
  limit: limit + 1,
})
