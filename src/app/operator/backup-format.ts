/**
 * The content of a backup: gzipped lines. The first line is the header. Each table follows as a line with its name, its
 * rows in the text format of PostgreSQL's COPY, and a line `\.`. The last line is the trailer. See backup-seal.ts for how
 * the content is authenticated.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { z } from 'zod'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'

export const formatVersion = 1

const literal = String.raw`(?:'(?:[^'\\]|'')*'|-?\d+(?:\.\d+)?|MINVALUE|MAXVALUE|NULL|true|false)`
const literals = String.raw`\(${literal}(?:, ${literal})*\)`
const plainName = '[a-z_][a-z0-9_]*'

/**
 * A backup contains two pieces of SQL: partition bounds and partition keys. Only plain literals and names are
 * accepted, so that a manipulated file cannot run other SQL.
 */
const bound = new RegExp(
  String.raw`^(?:DEFAULT|FOR VALUES (?:FROM ${literals} TO ${literals}|IN ${literals}|WITH \(modulus \d+, remainder \d+\)))$`,
)
const partitionedBy = new RegExp(String.raw`^(?:RANGE|LIST|HASH) \(${plainName}(?:, ${plainName})*\)$`)

const headerShape = z.object({
  tidings_backup: z.literal(formatVersion),
  service_version: z.string(),
  taken_at: z.iso.datetime(),
  migrations: z.array(z.object({ name: z.string(), checksum: z.string() })).min(1),
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()).min(1) })),
  partitions: z.array(
    z.object({
      name: z.string(),
      parent: z.string(),
      bound: z.string().regex(bound),
      by: z.string().regex(partitionedBy).nullable(),
    }),
  ),
  sequences: z.array(z.object({ name: z.string(), last: z.string().regex(/^-?\d+$/), called: z.boolean() })),
})

const tableShape = z.object({ table: z.string() })
const trailerShape = z.object({ rows: z.record(z.string(), z.int().nonnegative()), sha256: z.string() })

export type BackupHeader = z.output<typeof headerShape>
export type Rows = Record<string, number>

export const endOfRows = Buffer.from('\\.\n')

const line = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`)

/** Validates the header before writing it, so that the backup fails now rather than at a later restore. */
export const headerLine = (header: BackupHeader): Buffer => {
  const { error } = headerShape.safeParse(header)
  if (error) throw new OperatorFault(`The schema cannot be represented in a backup: ${z.prettifyError(error)}`)
  return line(header)
}
export const tableLine = (table: string): Buffer => line({ table })
export const trailerLine = (rows: Rows, sha256: string): Buffer => line({ rows, sha256 })

export type Part =
  | { kind: 'header'; header: BackupHeader }
  | { kind: 'table'; table: string }
  | { kind: 'rows'; bytes: Buffer }
  | { kind: 'end of table' }
  | { kind: 'trailer'; rows: Rows }

const notABackup = () => new OperatorFault('This file is not a Tidings backup.')
const truncated = () => new OperatorFault('The backup is truncated: it ends before its trailer.')
const damaged = (why: string) => new OperatorFault(`The backup is damaged: ${why}.`)

const asFault = (error: unknown, headerSeen: boolean): unknown => {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (code === 'Z_BUF_ERROR') return truncated()
  if (typeof code !== 'string' || !code.startsWith('Z_')) return error
  return headerSeen ? damaged((error as Error).message) : notABackup()
}

const maxLineBytes = 16 * 1024 * 1024
const newline = 10

/** Reads a stream of chunks line by line, or passes through all bytes up to a line `\.`. */
const makeReader = (chunks: AsyncIterator<Buffer>) => {
  const digest = createHash('sha256')
  let buffered: Buffer = Buffer.alloc(0)

  const more = async (): Promise<boolean> => {
    const { done, value } = await chunks.next()
    if (done) return false
    buffered = buffered.length === 0 ? value : Buffer.concat([buffered, value])
    return true
  }

  const take = (length: number): Buffer => {
    const taken = buffered.subarray(0, length)
    buffered = buffered.subarray(length)
    return taken
  }

  const nextLine = async (): Promise<Buffer | undefined> => {
    for (let searched = 0; ; ) {
      const at = buffered.indexOf(newline, searched)
      if (at >= 0) return take(at + 1)
      searched = buffered.length
      if (searched > maxLineBytes) throw notABackup()
      if (!(await more())) {
        if (buffered.length > 0) throw truncated()
        return undefined
      }
    }
  }

  /** Returns the position of a line `\.` in the buffer, or -1. `atLineStart`: the buffer begins with a new line. */
  const findEnd = (atLineStart: boolean): number => {
    if (atLineStart && buffered.subarray(0, endOfRows.length).equals(endOfRows)) return 0
    const newlineBefore = buffered.indexOf('\n\\.\n')
    return newlineBefore < 0 ? -1 : newlineBefore + 1
  }

  async function* rows(): AsyncGenerator<Buffer> {
    for (let atLineStart = true; ; ) {
      const end = findEnd(atLineStart)
      if (end >= 0) {
        const bytes = take(end)
        digest.update(bytes).update(take(endOfRows.length))
        if (bytes.length > 0) yield bytes
        return
      }
      // Pass on everything except a last line that may become `\.`. A row can be far larger than the buffer.
      const lastLine = buffered.lastIndexOf(newline) + 1
      const mayBeEnd = endOfRows.subarray(0, buffered.length - lastLine).equals(buffered.subarray(lastLine))
      const bytes = take(mayBeEnd ? lastLine : buffered.length)
      if (bytes.length > 0) {
        atLineStart = bytes.at(-1) === newline
        digest.update(bytes)
        yield bytes
      }
      if (!(await more())) throw truncated()
    }
  }

  return { more, nextLine, rows, digest, isEmpty: () => buffered.length === 0 }
}

const parseJson = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

const headerIn = (bytes: Buffer | undefined): BackupHeader => {
  const value = bytes && parseJson(bytes)
  const { tidings_backup: format } = (value ?? {}) as { tidings_backup?: unknown }
  if (typeof format !== 'number') throw notABackup()
  if (format > formatVersion) {
    throw new OperatorFault(
      `The backup has format ${format}, but this version reads formats up to ${formatVersion}. Restore it with a newer version.`,
    )
  }
  const header = headerShape.safeParse(value)
  if (!header.success) throw damaged('its header is invalid')
  return header.data
}

async function* partsIn(chunks: AsyncIterator<Buffer>, onHeader: () => void): AsyncGenerator<Part> {
  const reader = makeReader(chunks)
  const first = await reader.nextLine()
  const header = headerIn(first)
  onHeader()
  reader.digest.update(first!)
  yield { kind: 'header', header }
  for (const { name } of header.tables) {
    const start = await reader.nextLine()
    if (!start) throw truncated()
    const { data } = tableShape.safeParse(parseJson(start))
    if (data?.table !== name) throw damaged(`table ${name} is not where it should be`)
    reader.digest.update(start)
    yield { kind: 'table', table: name }
    for await (const bytes of reader.rows()) yield { kind: 'rows', bytes }
    yield { kind: 'end of table' }
  }
  const last = await reader.nextLine()
  if (!last) throw truncated()
  const { data: trailer } = trailerShape.safeParse(parseJson(last))
  if (!trailer) throw damaged('its trailer is invalid')
  if (trailer.sha256 !== reader.digest.digest('hex')) throw damaged('its content does not match its checksum')
  if (!reader.isEmpty() || (await reader.more())) throw damaged('it continues after its trailer')
  yield { kind: 'trailer', rows: trailer.rows }
}

/**
 * Yields the parts of a backup in order. The trailer verifies all of them, so do not commit anything before it. `open`
 * turns the bytes of the file into the gzipped content.
 */
export async function* readBackup(
  file: Readable,
  open?: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>,
): AsyncGenerator<Part> {
  let headerSeen = false
  const gunzip = createGunzip({ chunkSize: 256 * 1024 })
  const content = open ? Readable.from(open(file), { objectMode: false }) : file
  content.on('error', (error) => gunzip.destroy(error))
  content.pipe(gunzip)
  try {
    yield* partsIn(gunzip[Symbol.asyncIterator](), () => {
      headerSeen = true
    })
  } catch (error) {
    throw asFault(error, headerSeen)
  } finally {
    gunzip.destroy()
    // First the file: a read that waits for more of it then ends, and with it the content.
    file.destroy()
    content.destroy()
  }
}
