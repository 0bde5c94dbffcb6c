/** Fills an empty database from a backup: all of it or nothing. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import {
  dropsOf,
  foreignKeysIn,
  hasHistory,
  indexesIn,
  type Pair,
  partitionsIn,
  quoted,
  tablesIn,
  triggersIn,
} from '../db/catalogue.ts'
import { sqlState } from '../db/faults.ts'
import {
  type Applied,
  appliedMigrations,
  applyMigration,
  assertSameHistory,
  lockSchema,
  type Migration,
  migrate,
  readMigrations,
} from '../db/migrate.ts'
import type { Clock } from '../ground/clock.ts'
import type { Log } from '../ground/log.ts'
import { connectUntil, type Progress, prepareSession } from './backup.ts'
import { BackupFault, type BackupHeader, type Part, type Rows, readBackup } from './backup-format.ts'

export type Source = {
  open: () => Readable
  /** A file is read to its end before anything else happens; a pipe only flows by once. */
  rereadable: boolean
}

type Needs = {
  connect: () => Promise<pg.Client>
  clock: Clock
  log: Log
  serviceVersion: string
  /** Default: those of this version. */
  migrations?: Migration[]
  progress?: Progress
  signal?: AbortSignal
}

export type Restored = { rows: Rows; takenAt: string; serviceVersion: string }

type Parts = AsyncGenerator<Part>

const proveWhole = async (parts: Parts, signal: AbortSignal | undefined): Promise<void> => {
  for await (const _ of parts) signal?.throwIfAborted()
}

const headerOf = async (parts: Parts): Promise<BackupHeader> => {
  const { value } = await parts.next()
  if (value?.kind !== 'header') throw new Error('a backup is read from its header on')
  return value.header
}

/** The migrations that make the schema the backup was taken from. */
const migrationsOf = (header: BackupHeader, known: Migration[], serviceVersion: string): Migration[] => {
  header.migrations.forEach(({ name, checksum }, i) => {
    const ours = known[i]
    if (!ours) {
      throw new BackupFault(
        `The backup was taken by version ${header.service_version}, whose schema (${header.migrations.at(-1)!.name}) is newer than that of this version (${serviceVersion}): restore it with ${header.service_version} or newer.`,
      )
    }
    if (ours.name !== name || ours.checksum !== checksum) {
      throw new BackupFault(
        `Migration ${name} of the backup (version ${header.service_version}) differs from ${ours.name} of this version (${serviceVersion}).`,
      )
    }
  })
  return known.slice(0, header.migrations.length)
}

const lockMs = 10_000
const lockNotAvailable = '55P03'

/** Nobody may write meanwhile, and nobody may have written before. */
const takeEmptyTables = async (client: pg.ClientBase): Promise<void> => {
  const tables = await tablesIn(client)
  if (tables.length === 0) return
  try {
    await client.query(`set local lock_timeout = ${lockMs}`)
    const names = tables.map(({ name }) => quoted(name)).join(', ')
    await client.query(`lock table ${names} in access exclusive mode`)
    await client.query('set local lock_timeout = 0')
  } catch (error) {
    if (sqlState(error) !== lockNotAvailable) throw error
    throw new BackupFault('The database is in use: stop the service before restoring into it.')
  }
  for (const { name } of tables) {
    const { rows } = await client.query(`select exists (select from ${quoted(name)}) as used`)
    if (rows[0].used) {
      throw new BackupFault(
        `The database is not empty: table ${name} has rows. A backup is restored only into an empty one.`,
      )
    }
  }
}

const historyIn = async (client: pg.ClientBase, known: Migration[]): Promise<Applied[]> => {
  if (await hasHistory(client)) {
    const done = await appliedMigrations(client)
    try {
      assertSameHistory(done, known)
    } catch (error) {
      throw new BackupFault(`The database cannot be restored into: ${(error as Error).message}.`)
    }
    return done
  }
  const [stranger] = await tablesIn(client)
  if (!stranger) return []
  throw new BackupFault(
    `The database has a table ${stranger.name} that is not of Tidings: restore into a database of its own.`,
  )
}

/** Makes exactly the schema of the backup. Tables are known to be empty, so those of a newer one can go. */
const makeSchema = async (client: pg.ClientBase, wanted: Migration[], known: Migration[], at: Date): Promise<void> => {
  let done = (await historyIn(client, known)).length
  if (done > wanted.length) {
    for (const drop of await dropsOf(client)) await client.query(drop)
    done = 0
  }
  for (const migration of wanted.slice(done)) await applyMigration(client, migration, at)
}

/** Partitions are also made as time goes by, so the schema alone does not bring them. */
const makePartitions = async (client: pg.ClientBase, { partitions }: BackupHeader): Promise<void> => {
  const there = new Map((await partitionsIn(client)).map((partition) => [partition.name, partition]))
  for (const { name, parent, bound, by } of partitions) {
    const found = there.get(name)
    if (!found) {
      await client.query(
        `create table ${quoted(name)} partition of ${quoted(parent)} ${bound}${by ? ` partition by ${by}` : ''}`,
      )
    } else if (found.bound !== bound || found.parent !== parent) {
      throw new BackupFault(
        `Partition ${name} is ${found.bound} in the database and ${bound} in the backup: restore into a new database.`,
      )
    }
  }
}

const assertTablesFit = async (client: pg.ClientBase, { tables }: BackupHeader): Promise<void> => {
  const there = new Map((await tablesIn(client)).map(({ name, columns }) => [name, new Set(columns)]))
  for (const { name, columns } of tables) {
    const found = there.get(name)
    if (!found) {
      throw new BackupFault(
        `The backup holds a table ${name} (${columns.join(', ')}), which Tidings does not make: make it by hand in the database first.`,
      )
    }
    const missing = columns.filter((column) => !found.has(column))
    if (missing.length > 0) {
      throw new BackupFault(`Table ${name} of the backup has columns that are not there: ${missing.join(', ')}.`)
    }
  }
}

/** The rows of the table at which the reader stands, up to its end. */
async function* rowsOf(parts: Parts, onBytes: (length: number) => void): AsyncGenerator<Buffer> {
  for (;;) {
    const { value, done } = await parts.next()
    if (done || value.kind !== 'rows') return
    onBytes(value.bytes.length)
    yield value.bytes
  }
}

const load = async (
  client: pg.Client,
  parts: Parts,
  header: BackupHeader,
  { progress, signal }: Needs,
): Promise<Rows> => {
  const columnsOf = new Map(header.tables.map(({ name, columns }) => [name, columns]))
  const loaded: Rows = {}
  for (;;) {
    const { value, done } = await parts.next()
    if (done) throw new Error('a backup ends with its trailer')
    if (value.kind === 'trailer') {
      assertSameRows(value.rows, loaded)
      return loaded
    }
    if (value.kind !== 'table') throw new Error(`${value.kind} is out of place`)
    const { table } = value
    const columns = columnsOf.get(table)!.map((column) => pg.escapeIdentifier(column))
    const copy = client.query(copyFrom(`copy ${quoted(table)} (${columns.join(', ')}) from stdin`))
    let bytes = 0
    const rows = rowsOf(parts, (length) => {
      bytes += length
      progress?.bytes(table, bytes)
    })
    await pipeline(Readable.from(rows), copy, { signal })
    loaded[table] = copy.rowCount
    progress?.table(table, copy.rowCount)
  }
}

const assertSameRows = (wanted: Rows, loaded: Rows): void => {
  for (const table of new Set([...Object.keys(wanted), ...Object.keys(loaded)])) {
    if (wanted[table] === loaded[table]) continue
    throw new BackupFault(
      `Table ${table} has ${wanted[table] ?? 0} rows in the backup, but ${loaded[table] ?? 0} arrived.`,
    )
  }
}

const setSequences = async (client: pg.ClientBase, { sequences }: BackupHeader): Promise<void> => {
  for (const { name, last, called } of sequences) {
    await client.query('select setval($1::regclass, $2, $3)', [quoted(name), last, called])
  }
}

const each = async (client: pg.ClientBase, pairs: Pair[], which: keyof Pair): Promise<void> => {
  for (const pair of pairs) await client.query(pair[which])
}

/**
 * Schema and rows in one transaction. Foreign keys are taken off and put back, which proves them anew: two tables
 * may refer to each other, and only a superuser could suspend the checks. Triggers stay silent, since nothing
 * that they tell of happens now.
 */
const fill = async (client: pg.Client, parts: Parts, header: BackupHeader, needs: Needs): Promise<Rows> => {
  const known = needs.migrations ?? (await readMigrations())
  const wanted = migrationsOf(header, known, needs.serviceVersion)
  await lockSchema(client)
  await prepareSession(client)
  await client.query('begin')
  await takeEmptyTables(client)
  await makeSchema(client, wanted, known, needs.clock.now())
  await makePartitions(client, header)
  await assertTablesFit(client, header)
  const foreignKeys = await foreignKeysIn(client)
  const rest = [...(await indexesIn(client)), ...(await triggersIn(client))]
  // A foreign key stands on the index of what it refers to.
  await each(client, [...foreignKeys, ...rest], 'before')
  const rows = await load(client, parts, header, needs)
  await setSequences(client, header)
  needs.progress?.stage('building indexes and proving references')
  await each(client, [...rest, ...foreignKeys], 'after')
  await client.query('commit')
  return rows
}

const analyse = async (connect: Needs['connect']): Promise<void> => {
  const client = await connect()
  try {
    await prepareSession(client)
    const tables = await tablesIn(client)
    await client.query(`analyze ${tables.map(({ name }) => quoted(name)).join(', ')}`)
  } finally {
    await client.end()
  }
}

export const restore = async (needs: Needs, source: Source): Promise<Restored> => {
  const { connect, clock, log, migrations, progress, signal } = needs
  if (source.rereadable) {
    progress?.stage('checking that the backup is whole')
    await proveWhole(readBackup(source.open()), signal)
  }
  const client = await connectUntil(connect, signal)
  const parts = readBackup(source.open())
  try {
    const header = await headerOf(parts)
    const rows = await fill(client, parts, header, needs).catch(async (error) => {
      await client.query('rollback').catch(() => undefined)
      throw error
    })
    await client.end()
    progress?.stage('bringing the schema up to date and gathering statistics')
    await migrate({ connect, clock, log, ...(migrations && { migrations }) })
    await analyse(connect)
    return { rows, takenAt: header.taken_at, serviceVersion: header.service_version }
  } finally {
    await parts.return(undefined)
    await client.end()
  }
}
