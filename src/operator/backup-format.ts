/**
 * A backup as a file: gzip around lines. The first line is the header; then, for each table, a line that names it,
 * its rows as PostgreSQL's COPY writes them and a line `\.`; the last line is the trailer. Everything can be read
 * with zcat, and a table's part can be fed to psql by hand.
 */
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { z } from 'zod'

/** Something about a backup that a person can mend, told in one line. */
export class BackupFault extends Error {}

export const formatVersion = 1

const literal = String.raw`(?:'(?:[^'\\]|'')*'|-?\d+(?:\.\d+)?|MINVALUE|MAXVALUE|NULL|true|false)`
const literals = String.raw`\(${literal}(?:, ${literal})*\)`
const plainName = '[a-z_][a-z0-9_]*'

/**
 * The two pieces of SQL in a backup. Only plain literals and names are let through, so that a file somebody
 * tampered with cannot run anything.
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

/** Checked as it is written: what restore would refuse must not be found out on the day it is needed. */
export const headerLine = (header: BackupHeader): Buffer => {
  const { error } = headerShape.safeParse(header)
  if (error) throw new BackupFault(`The schema holds something a backup cannot keep: ${z.prettifyError(error)}`)
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

const foreign = () => new BackupFault('This is not a backup of Tidings.')
const cutOff = () => new BackupFault('The backup is cut off: it ends before its trailer.')
const damaged = (why: string) => new BackupFault(`The backup is damaged: ${why}.`)

const asFault = (error: unknown, headerSeen: boolean): unknown => {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (code === 'Z_BUF_ERROR') return cutOff()
  if (typeof code !== 'string' || !code.startsWith('Z_')) return error
  return headerSeen ? damaged((error as Error).message) : foreign()
}

const longestLine = 16 * 1024 * 1024
const newline = 10

/** Walks over a stream of chunks by lines, or hands through what lies before a line `\.`. */
const makeReader = (chunks: AsyncIterator<Buffer>) => {
  const digest = createHash('sha256')
  let held: Buffer = Buffer.alloc(0)

  const more = async (): Promise<boolean> => {
    const { done, value } = await chunks.next()
    if (done) return false
    held = held.length === 0 ? value : Buffer.concat([held, value])
    return true
  }

  const take = (length: number): Buffer => {
    const taken = held.subarray(0, length)
    held = held.subarray(length)
    return taken
  }

  const nextLine = async (): Promise<Buffer | undefined> => {
    for (let looked = 0; ; ) {
      const at = held.indexOf(newline, looked)
      if (at >= 0) return take(at + 1)
      looked = held.length
      if (looked > longestLine) throw foreign()
      if (!(await more())) {
        if (held.length > 0) throw cutOff()
        return undefined
      }
    }
  }

  /** Where a line `\.` starts, given whether what is held starts a line; -1 when it is not there yet. */
  const findEnd = (atLineStart: boolean): number => {
    if (atLineStart && held.subarray(0, endOfRows.length).equals(endOfRows)) return 0
    const before = held.indexOf('\n\\.\n')
    return before < 0 ? -1 : before + 1
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
      // All but a last line that may turn out to be the end. A row may be far larger than what is held at once.
      const lastLine = held.lastIndexOf(newline) + 1
      const mayBeEnd = endOfRows.subarray(0, held.length - lastLine).equals(held.subarray(lastLine))
      const bytes = take(mayBeEnd ? lastLine : held.length)
      if (bytes.length > 0) {
        atLineStart = bytes.at(-1) === newline
        digest.update(bytes)
        yield bytes
      }
      if (!(await more())) throw cutOff()
    }
  }

  return { more, nextLine, rows, digest, isEmpty: () => held.length === 0 }
}

const parsed = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

const headerIn = (bytes: Buffer | undefined): BackupHeader => {
  const value = bytes && parsed(bytes)
  const { tidings_backup: format } = (value ?? {}) as { tidings_backup?: unknown }
  if (typeof format !== 'number') throw foreign()
  if (format > formatVersion) {
    throw new BackupFault(
      `The backup has format ${format}, and this version reads up to ${formatVersion}: restore it with a newer one.`,
    )
  }
  const header = headerShape.safeParse(value)
  if (!header.success) throw damaged('its header is not what a header is')
  return header.data
}

async function* partsIn(chunks: AsyncIterator<Buffer>, seen: () => void): AsyncGenerator<Part> {
  const reader = makeReader(chunks)
  const first = await reader.nextLine()
  const header = headerIn(first)
  seen()
  reader.digest.update(first!)
  yield { kind: 'header', header }
  for (const { name } of header.tables) {
    const start = await reader.nextLine()
    if (!start) throw cutOff()
    const { data } = tableShape.safeParse(parsed(start))
    if (data?.table !== name) throw damaged(`where table ${name} should be there is something else`)
    reader.digest.update(start)
    yield { kind: 'table', table: name }
    for await (const bytes of reader.rows()) yield { kind: 'rows', bytes }
    yield { kind: 'end of table' }
  }
  const last = await reader.nextLine()
  if (!last) throw cutOff()
  const { data: trailer } = trailerShape.safeParse(parsed(last))
  if (!trailer) throw damaged('its trailer is not what a trailer is')
  if (trailer.sha256 !== reader.digest.digest('hex')) throw damaged('its content does not match its checksum')
  if (!reader.isEmpty() || (await reader.more())) throw damaged('it goes on after its trailer')
  yield { kind: 'trailer', rows: trailer.rows }
}

/** The parts of a backup in order. Only the trailer proves the rest, so act on nothing for good before it. */
export async function* readBackup(file: Readable): AsyncGenerator<Part> {
  let headerSeen = false
  const gunzip = createGunzip({ chunkSize: 256 * 1024 })
  file.on('error', (error) => gunzip.destroy(error))
  file.pipe(gunzip)
  try {
    yield* partsIn(gunzip[Symbol.asyncIterator](), () => {
      headerSeen = true
    })
  } catch (error) {
    throw asFault(error, headerSeen)
  } finally {
    gunzip.destroy()
    file.destroy()
  }
}
