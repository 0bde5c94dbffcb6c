/** Reads the result of a statement with COPY, for results that are too large for memory. */
import { Readable } from 'node:stream'
import pg from 'pg'
import type { Statement } from './statement.ts'

/** COPY takes no parameters, so their values become literals. */
const inlined = <P extends object>({ text, params }: Statement<P, unknown>, values: P): string =>
  text.replace(/\$(\d+)/g, (_, place: string) => {
    const value: unknown = values[params[Number(place) - 1] as keyof P]
    if (typeof value !== 'string') throw new Error('only texts can be parameters of COPY')
    return pg.escapeLiteral(value)
  })

/** The type of a message of the server, and its length without the type. */
const messageHeaderBytes = 5
/** The signature of the data, its flags and the length of an extension, which is 0. */
const dataHeaderBytes = 19
/** The number of fields and the length of the only one. */
const rowHeaderBytes = 6

const copyData = 'd'.charCodeAt(0)
/** Messages that can precede the data or come between. Any other ends it. */
const passedOver = new Set([...'HSNA'].map((letter) => letter.charCodeAt(0)))

/** Collects a header that can be split between chunks. */
const makeHeader = (bytes: number) => {
  const held = Buffer.alloc(bytes)
  let length = 0
  return {
    held,
    /** Takes what is missing from the bytes between two places. Returns the place after it. */
    take: (chunk: Buffer, at: number, end: number): number => {
      const taken = Math.min(bytes - length, end - at)
      chunk.copy(held, length, at, at + taken)
      length += taken
      return at + taken
    },
    complete: (): boolean => length === bytes,
    beginNext: (): void => {
      length = 0
    },
  }
}

/**
 * Joins the values of rows with one text column. In the binary format the server writes a value as it is, while the
 * other formats make it look at each character for something to escape. Values move to the front of the chunk in which
 * they arrived: copies of all data were most of the memory that an export took.
 */
const makeReadChunk = () => {
  const message = makeHeader(messageHeaderBytes)
  const row = makeHeader(rowHeaderBytes)
  let ofMessage = 0
  let isData = false
  let toSkip = dataHeaderBytes
  let ofValue = 0
  let rows = 0

  /** Moves the values between two places to `length`, and returns the length after them. */
  const join = (chunk: Buffer, from: number, end: number, length: number): number => {
    let joined = length
    let at = from
    while (at < end) {
      if (toSkip > 0) {
        const skipped = Math.min(toSkip, end - at)
        toSkip -= skipped
        at += skipped
      } else if (ofValue > 0) {
        const taken = Math.min(ofValue, end - at)
        chunk.copyWithin(joined, at, at + taken)
        joined += taken
        ofValue -= taken
        at += taken
      } else {
        at = row.take(chunk, at, end)
        if (!row.complete()) break
        row.beginNext()
        // The end of the data is a row with -1 fields and nothing else, so it never completes a header.
        ofValue = Math.max(0, row.held.readInt32BE(2))
        rows++
      }
    }
    return joined
  }

  /** Returns the values in a chunk, how many rows began, and once the data has ended, what the server said after it. */
  return (chunk: Buffer): { values: Buffer; rows: number; rest?: Buffer } => {
    let length = 0
    rows = 0
    for (let at = 0; at < chunk.length; ) {
      if (ofMessage === 0) {
        at = message.take(chunk, at, chunk.length)
        if (!message.complete()) break
        const type = message.held[0] as number
        isData = type === copyData
        if (!isData && !passedOver.has(type)) {
          return { values: chunk.subarray(0, length), rows, rest: Buffer.concat([message.held, chunk.subarray(at)]) }
        }
        message.beginNext()
        ofMessage = message.held.readInt32BE(1) - 4
      } else {
        const end = Math.min(at + ofMessage, chunk.length)
        if (isData) length = join(chunk, at, end, length)
        ofMessage -= end - at
        at = end
      }
    }
    return { values: chunk.subarray(0, length), rows }
  }
}

type Parse = (chunk: Buffer) => void

/** A query whose data the driver does not see: it would copy each row. The driver reads what comes after. */
class CopyOut extends Readable implements pg.Submittable {
  readonly #text: string
  readonly #rowsRead: (count: number) => void
  #socket: Readable | undefined

  constructor(text: string, rowsRead: (count: number) => void) {
    super()
    this.#text = text
    this.#rowsRead = rowsRead
  }

  submit(connection: pg.Connection): void {
    const socket = connection.stream as Readable
    const [parse] = socket.listeners('data') as Parse[]
    if (!parse) throw new Error('the driver does not listen to its connection')
    const read = makeReadChunk()
    const take = (chunk: Buffer): void => {
      const { values, rows, rest } = read(chunk)
      this.#rowsRead(rows)
      if (values.length > 0 && !this.push(values)) socket.pause()
      if (!rest) return
      socket.off('data', take).on('data', parse).resume()
      parse(rest)
    }
    this.#socket = socket.off('data', parse).on('data', take)
    connection.query(this.#text)
  }

  override _read(): void {
    this.#socket?.resume()
  }

  handleError(error: Error): void {
    this.destroy(error)
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.push(null)
  }
}

/** The values of a statement with one text column, one after the other. Reads only as fast as the caller takes them. */
export const copyValues = <P extends object>(
  client: pg.Client,
  statement: Statement<P, unknown>,
  values: P,
  { rowsRead = () => undefined }: { rowsRead?: (count: number) => void } = {},
): AsyncIterable<Buffer> =>
  client.query(new CopyOut(`copy (${inlined(statement, values)}) to stdout with (format binary)`, rowsRead))
