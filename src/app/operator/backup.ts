/** Writes a consistent backup of the whole database while the service keeps running. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { hasHistory, partitionsIn, quoted, sequencesIn, type Table, tablesIn } from '../../platform/db/catalogue.ts'
import { sqlState } from '../../platform/db/faults.ts'
import { appliedMigrations } from '../../platform/db/migrate.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { type EncryptTo, encryptBackup } from './backup-encryption.ts'
import {
  type BackupHeader,
  endOfRows,
  formatVersion,
  headerLine,
  type Rows,
  tableLine,
  trailerLine,
} from './backup-format.ts'
import { sealBackup } from './backup-seal.ts'

/** Callbacks that report progress. */
export type Progress = {
  bytes(table: string, soFar: number): void
  table(table: string, rows: number): void
  /** A step that is not about a single table. */
  stage(name: string): void
}

export type Needs = {
  connect: () => Promise<pg.Client>
  clock: Clock
  serviceVersion: string
  /** Authenticates the backup. */
  masterKey: Buffer
  encryptTo?: EncryptTo | undefined
  progress?: Progress
  signal?: AbortSignal
}

type BackedUp = { rows: Rows; takenAt: string }

/** Makes the output format independent of the server's settings, and disables all timeouts. */
export const prepareSession = async (client: pg.ClientBase): Promise<void> => {
  await client.query(`set client_encoding = 'UTF8'; set datestyle = 'ISO'; set intervalstyle = 'postgres';
    set timezone = 'UTC'; set bytea_output = 'hex'; set extra_float_digits = 3`)
  await client.query(`select set_config(name, '0', false) from pg_settings where name in
    ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout', 'lock_timeout')`)
}

const noSuchTable = '42P01'

const sameTables = (one: Table[], other: Table[]): boolean => JSON.stringify(one) === JSON.stringify(other)

const maxTries = 5

/**
 * Opens a snapshot of these tables. Returns false if the schema has changed since they were listed. The tables are
 * locked against schema changes before the snapshot is taken, because a table that is truncated or rewritten in
 * between would look empty in it.
 */
const openSnapshot = async (client: pg.ClientBase, tables: Table[]): Promise<boolean> => {
  await client.query('begin isolation level repeatable read read only')
  try {
    const names = [...tables.map(({ name }) => quoted(name)), quoted('schema_migrations')]
    await client.query(`lock table ${names.join(', ')} in access share mode`)
    // A row security policy that hides rows must cause an error, not an incomplete backup.
    await client.query('set local row_security = off')
    if (sameTables(tables, await tablesIn(client))) return true
  } catch (error) {
    if (sqlState(error) !== noSuchTable) throw error
  }
  await client.query('rollback')
  return false
}

const tablesInSnapshot = async (client: pg.ClientBase): Promise<Table[]> => {
  for (let tried = 0; tried < maxTries; tried++) {
    const tables = await tablesIn(client)
    if (!(await hasHistory(client)) || tables.length === 0) {
      throw new OperatorFault(
        'There is nothing to back up: the database has no Tidings tables. Check DATABASE_URL or DATA_DIR.',
      )
    }
    if (await openSnapshot(client, tables)) return tables
  }
  throw new OperatorFault('The schema keeps changing. Try again when the migration has finished.')
}

const headerOf = async (client: pg.ClientBase, tables: Table[], needs: Needs): Promise<BackupHeader> => ({
  tidings_backup: formatVersion,
  service_version: needs.serviceVersion,
  taken_at: needs.clock.now().toISOString(),
  migrations: await appliedMigrations(client),
  tables: tables.map(({ name, columns }) => ({ name, columns })),
  partitions: await partitionsIn(client),
  // Read after the snapshot is taken, so that a sequence is never behind a value that a row contains.
  sequences: await sequencesIn(client),
})

const copyOf = ({ name, partitioned, columns }: Table): string => {
  const list = columns.map((column) => `"${column.replaceAll('"', '""')}"`).join(', ')
  return partitioned
    ? `copy (select ${list} from ${quoted(name)}) to stdout`
    : `copy ${quoted(name)} (${list}) to stdout`
}

async function* content(
  client: pg.Client,
  tables: Table[],
  header: BackupHeader,
  progress: Progress | undefined,
): AsyncGenerator<Buffer, Rows> {
  yield headerLine(header)
  const rows: Rows = {}
  for (const table of tables) {
    yield tableLine(table.name)
    const copy = client.query(copyTo(copyOf(table)))
    let bytes = 0
    for await (const chunk of copy as AsyncIterable<Buffer>) {
      bytes += chunk.length
      progress?.bytes(table.name, bytes)
      yield chunk
    }
    yield endOfRows
    // The row count arrives after the last row. Once the connection answers another query, it has been read.
    await client.query('select')
    rows[table.name] = copy.rowCount
    progress?.table(table.name, copy.rowCount)
  }
  return rows
}

/** Opens a connection that is closed when the signal aborts, so that running statements end at once. */
export const connectUntil = async (
  connect: () => Promise<pg.Client>,
  signal: AbortSignal | undefined,
): Promise<pg.Client> => {
  signal?.throwIfAborted()
  const client = await connect()
  signal?.addEventListener('abort', () => client.end().catch(() => undefined), { once: true })
  return client
}

/** Streams a backup to `out`, with only a small part of it in memory at a time. */
export const backUp = async (needs: Needs, out: Writable): Promise<BackedUp> => {
  const client = await connectUntil(needs.connect, needs.signal)
  try {
    await prepareSession(client)
    const tables = await tablesInSnapshot(client)
    const header = await headerOf(client, tables, needs)
    let rows: Rows = {}
    const digested = async function* () {
      const digest = createHash('sha256')
      const parts = content(client, tables, header, needs.progress)
      let part = await parts.next()
      for (; !part.done; part = await parts.next()) {
        digest.update(part.value)
        yield part.value
      }
      rows = part.value
      yield trailerLine(rows, digest.digest('hex'))
    }
    const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: 256 * 1024 })
    const sealed = (chunks: AsyncIterable<Buffer>) => {
      const content = sealBackup(chunks, needs.masterKey)
      return needs.encryptTo ? encryptBackup(content, needs.encryptTo) : content
    }
    await pipeline(Readable.from(digested()), gzip, sealed, out, { signal: needs.signal })
    return { rows, takenAt: header.taken_at }
  } finally {
    await client.end()
  }
}

const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Otherwise the name of a file can be lost when the machine stops. */
export const syncFolderOf = async (path: string): Promise<void> => {
  const folder = await open(dirname(path), 'r')
  // Not every file system supports this. The rename has happened in any case.
  await folder.sync().catch(() => undefined)
  await folder.close()
}

type FileId = { ino: number; dev: number }

const isSameFile = async (path: string, { ino, dev }: FileId): Promise<boolean> => {
  const now = await stat(path).catch(() => undefined)
  return now?.ino === ino && now.dev === dev
}

/** Writes a backup to a file. The file gets its final name only when it is complete and flushed to disk. */
export const backUpToFile = async (needs: Needs, path: string): Promise<BackedUp & { bytes: number }> => {
  const assertDoesNotExist = async () => {
    if (await exists(path)) throw new OperatorFault(`${path} already exists. Choose another file name.`)
  }
  await assertDoesNotExist()
  const partial = `${path}.partial`
  // Left behind if an earlier backup was killed.
  await rm(partial, { force: true })
  const out = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true })
  await once(out, 'open')
  const ours = await stat(partial)
  try {
    const done = await backUp(needs, out)
    await assertDoesNotExist()
    if (!(await isSameFile(partial, ours))) {
      throw new OperatorFault(`Another backup is being written to ${path} at the same time.`)
    }
    await rename(partial, path)
    await syncFolderOf(path)
    return { ...done, bytes: out.bytesWritten }
  } catch (error) {
    out.destroy()
    if (await isSameFile(partial, ours)) await rm(partial, { force: true })
    throw error
  }
}
