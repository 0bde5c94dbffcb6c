/** The last row of a page: its creation time (UTC, as text) and id. */
export type Position = { createdAt: string; id: string }

const timestamp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** Rejects 31 February, which Date.parse accepts, and the year 0, which PostgreSQL does not have. */
const isRealDate = (text: string): boolean => {
  const date = new Date(text)
  return !Number.isNaN(date.getTime()) && date.toISOString() === text && !text.startsWith('0000')
}

export const encodeCursor = ({ createdAt, id }: Position): string =>
  Buffer.from(JSON.stringify({ c: createdAt, i: id })).toString('base64url')

export const maxCursorLength = 512
const cursorText = new RegExp(`^[A-Za-z0-9_-]{1,${maxCursorLength}}$`)

/** Undefined when the text is not a cursor of this service. */
export const decodeCursor = (text: string): Position | undefined => {
  if (!cursorText.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (typeof value !== 'object' || value === null) return undefined
    const { c, i, ...rest } = value as Record<string, unknown>
    if (typeof c !== 'string' || typeof i !== 'string' || Object.keys(rest).length > 0) return undefined
    if (!timestamp.test(c) || !isRealDate(c) || !/^[a-z]{3}_[0-9a-z]{26}$/.test(i)) return undefined
    // Each position has exactly one cursor, so a text that encodes differently did not come from encodeCursor.
    return encodeCursor({ createdAt: c, id: i }) === text ? { createdAt: c, id: i } : undefined
  } catch {
    return undefined
  }
}

/** The parameters of a list statement: the row its page starts after, and how many rows it reads. */
export type Keyset = { afterAt: string | null; afterId: string | null; limit: number }

/** A page of a list: the position that it begins after, and how many items it has at most. */
export type PageAsked = { cursor?: Position | undefined; limit: number }

/** Reads one row more than the page shows, to find out whether another page follows. */
export const keysetOf = ({ cursor, limit }: PageAsked): Keyset => ({
  afterAt: cursor?.createdAt ?? null,
  afterId: cursor?.id ?? null,
  limit: limit + 1,
})

const endOfPage = (prefix: string): string =>
  `and (:afterAt::timestamptz is null or (${prefix}created_at, ${prefix}id) < (:afterAt::timestamptz, :afterId))
   order by ${prefix}created_at desc, ${prefix}id desc
   limit :limit`

/** The end of a statement that lists rows newest first. Its parameters are a `Keyset`. */
export const newestPage = endOfPage('')

/** The same for the rows of the table with this alias. */
export const newestPageOf = (alias: string): string => endOfPage(`${alias}.`)
