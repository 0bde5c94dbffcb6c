/** Reads the result of a statement with COPY, for results that are too large for memory. */
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { Statement } from './statement.ts'

/** COPY takes no parameters, so their values become literals. */
const inlined = <P extends object>({ text, params }: Statement<P, unknown>, values: P): string =>
  text.replace(/\$(\d+)/g, (_, place: string) => {
    const value: unknown = values[params[Number(place) - 1] as keyof P]
    if (typeof value !== 'string') throw new Error('only texts can be parameters of COPY')
    return pg.escapeLiteral(value)
  })

/** The signature, the flags and the length of an extension, which is 0. */
const headerBytes = 19
/** The number of fields and the length of the only one. */
const rowHeaderBytes = 6

/**
 * Joins the values of rows with one text column. In the binary format the server writes a value as it is, while the
 * other formats make it look at each character for something to escape.
 */
const makeJoinValues = () => {
  let skip = headerBytes
  let left = 0
  let rows = 0
  const pending = Buffer.alloc(rowHeaderBytes)
  let pendingBytes = 0

  /** Copies the values in a chunk to the front of a new one. */
  const take = (chunk: Buffer): Buffer => {
    const joined = Buffer.allocUnsafe(chunk.length)
    let length = 0
    for (let at = 0; at < chunk.length; ) {
      if (skip > 0) {
        const skipped = Math.min(skip, chunk.length - at)
        skip -= skipped
        at += skipped
      } else if (left > 0) {
        const taken = Math.min(left, chunk.length - at)
        length += chunk.copy(joined, length, at, at + taken)
        left -= taken
        at += taken
      } else {
        pending[pendingBytes++] = chunk[at++] as number
        // The end of the data is a row with -1 fields and nothing else.
        if (pendingBytes < rowHeaderBytes) continue
        pendingBytes = 0
        left = Math.max(0, pending.readInt32BE(2))
        rows++
      }
    }
    return joined.subarray(0, length)
  }
  return { take, rows: () => rows }
}

type Options = { rowsRead?: (count: number) => void }

/** The values of a statement with one text column, one after the other. Reads only as fast as the caller takes them. */
export async function* copyValues<P extends object>(
  client: pg.Client,
  statement: Statement<P, unknown>,
  values: P,
  { rowsRead }: Options = {},
): AsyncGenerator<Buffer> {
  const stream = client.query(copyTo(`copy (${inlined(statement, values)}) to stdout with (format binary)`))
  const { take, rows } = makeJoinValues()
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const before = rows()
    const joined = take(chunk)
    rowsRead?.(rows() - before)
    if (joined.length > 0) yield joined
  }
}
