/** Restores a backup into an empty database, either completely or not at all. */
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
} from '../../platform/db/catalogue.ts'
import { sqlState } from '../../platform/db/faults.ts'
import {
  type Applied,
  appliedMigrations,
  applyMigration,
  assertSameHistory,
  lockSchema,
  type Migration,
  migrate,
  readMigrations,
} from '../../platform/db/migrate.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { connectUntil, type Progress, prepareSession } from './backup.ts'
import { type BackupHeader, type Part, type Rows, readBackup } from './backup-format.ts'
import { type Opening, openBackup } from './open-backup.ts'

export type Source = {
  open: () => Readable
  /** A file can be read twice, so it is verified completely before the restore begins. A pipe cannot. */
  rereadable: boolean
}

type Needs = {
  connect: () => Promise<pg.Client>
  clock: Clock
  log: Log
  serviceVersion: string
  opening: Opening
  /** Defaults to the migrations of this version. */
  migrations?: Migration[]
  progress?: Progress
  signal?: AbortSignal
}

export type Restored = {
  rows: Rows
  takenAt: string
  serviceVersion: string
  /** Why the backup is not authenticated. Null if it is. */
  unauthenticated: string | null
}

type Parts = AsyncGenerator<Part>

const verifyAll = async (parts: Parts, signal: AbortSignal | undefined): Promise<void> => {
  for await (const _ of parts) signal?.throwIfAborted()
}

const headerOf = async (parts: Parts): Promise<BackupHeader> => {
  const { value } = await parts.next()
  if (value?.kind !== 'header') throw new Error('The first part of a backup must be its header')
  return value.header
}

/** The migrations that create the schema of the backup. */
const migrationsOf = (header: BackupHeader, known: Migration[], serviceVersion: string): Migration[] => {
  header.migrations.forEach(({ name, checksum }, i) => {
    const ours = known[i]
    if (!ours) {
      throw new OperatorFault(
        `The backup was taken by version ${header.service_version}. Its schema (${header.migrations.at(-1)!.name}) is newer than the schema of this version (${serviceVersion}). Restore it with version ${header.service_version} or newer.`,
      )
    }
    if (ours.name !== name || ours.checksum !== checksum) {
      throw new OperatorFault(
        `Migration ${name} of the backup (version ${header.service_version}) differs from migration ${ours.name} of this version (${serviceVersion}). Restore it with the version that took it.`,
      )
    }
  })
  return known.slice(0, header.migrations.length)
}

const lockMs = 10_000
const lockNotAvailable = '55P03'

/** Locks all tables against other connections, then checks that they are empty. */
const lockEmptyTables = async (client: pg.ClientBase): Promise<void> => {
  const tables = await tablesIn(client)
  if (tables.length === 0) return
  try {
    await client.query(`set local lock_timeout = ${lockMs}`)
    const names = tables.map(({ name }) => quoted(name)).join(', ')
    await client.query(`lock table ${names} in access exclusive mode`)
    await client.query('set local lock_timeout = 0')
  } catch (error) {
    if (sqlState(error) !== lockNotAvailable) throw error
    throw new OperatorFault('The database is in use. Stop the service before you restore into it.')
  }
  for (const { name } of tables) {
    const { rows } = await client.query(`select exists (select from ${quoted(name)}) as used`)
    if (rows[0].used) {
      throw new OperatorFault(
        `The database is not empty: table ${name} has rows. A backup can be restored only into an empty database.`,
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
      throw new OperatorFault(`The backup cannot be restored into this database: ${(error as Error).message}.`)
    }
    return done
  }
  const [unknown] = await tablesIn(client)
  if (!unknown) return []
  throw new OperatorFault(
    `The database has a table ${unknown.name} that does not belong to Tidings. Restore into a separate database.`,
  )
}

/** Creates exactly the schema of the backup. All tables are empty, so those of a newer schema can be dropped. */
const makeSchema = async (client: pg.ClientBase, wanted: Migration[], known: Migration[], at: Date): Promise<void> => {
  let done = (await historyIn(client, known)).length
  if (done > wanted.length) {
    for (const drop of await dropsOf(client)) await client.query(drop)
    done = 0
  }
  for (const migration of wanted.slice(done)) await applyMigration(client, migration, at)
}

/** Creates partitions that no migration creates, because the service added them later. */
const makePartitions = async (client: pg.ClientBase, { partitions }: BackupHeader): Promise<void> => {
  const existing = new Map((await partitionsIn(client)).map((partition) => [partition.name, partition]))
  for (const { name, parent, bound, by } of partitions) {
    const found = existing.get(name)
    if (!found) {
      await client.query(
        `create table ${quoted(name)} partition of ${quoted(parent)} ${bound}${by ? ` partition by ${by}` : ''}`,
      )
    } else if (found.bound !== bound || found.parent !== parent) {
      throw new OperatorFault(
        `Partition ${name} is ${found.bound} in the database but ${bound} in the backup. Restore into a new database.`,
      )
    }
  }
}

const assertTablesFit = async (client: pg.ClientBase, { tables }: BackupHeader): Promise<void> => {
  const existing = new Map((await tablesIn(client)).map(({ name, columns }) => [name, new Set(columns)]))
  for (const { name, columns } of tables) {
    const found = existing.get(name)
    if (!found) {
      throw new OperatorFault(
        `The backup contains a table ${name} (${columns.join(', ')}) that does not belong to Tidings. Create it in the database first.`,
      )
    }
    const missing = columns.filter((column) => !found.has(column))
    if (missing.length > 0) {
      throw new OperatorFault(
        `Table ${name} of the backup has columns that the database does not have: ${missing.join(', ')}.`,
      )
    }
  }
}

/** Yields the rows of the current table. */
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
    if (done) throw new Error('The last part of a backup must be its trailer')
    if (value.kind === 'trailer') {
      assertSameRows(value.rows, loaded)
      return loaded
    }
    if (value.kind !== 'table') throw new Error(`Unexpected part of a backup: ${value.kind}`)
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

const assertSameRows = (expected: Rows, loaded: Rows): void => {
  for (const table of new Set([...Object.keys(expected), ...Object.keys(loaded)])) {
    if (expected[table] === loaded[table]) continue
    throw new OperatorFault(
      `Table ${table} has ${expected[table] ?? 0} rows in the backup, but ${loaded[table] ?? 0} were loaded.`,
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
 * Creates the schema and loads the rows in one transaction. Foreign keys are dropped and created again, which
 * validates them. They have to be dropped because two tables may refer to each other, and only a superuser can
 * suspend the checks. Triggers are disabled, because the changes that they announce do not happen now.
 */
const restoreAll = async (client: pg.Client, parts: Parts, header: BackupHeader, needs: Needs): Promise<Rows> => {
  const known = needs.migrations ?? (await readMigrations())
  const wanted = migrationsOf(header, known, needs.serviceVersion)
  await lockSchema(client)
  await prepareSession(client)
  await client.query('begin')
  await lockEmptyTables(client)
  await makeSchema(client, wanted, known, needs.clock.now())
  await makePartitions(client, header)
  await assertTablesFit(client, header)
  const foreignKeys = await foreignKeysIn(client)
  const rest = [...(await indexesIn(client)), ...(await triggersIn(client))]
  // A foreign key depends on an index of the referenced table, so foreign keys are dropped first and created last.
  await each(client, [...foreignKeys, ...rest], 'before')
  const rows = await load(client, parts, header, needs)
  await setSequences(client, header)
  needs.progress?.stage('building indexes and validating foreign keys')
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
  let unauthenticated: string | null = null
  const read = (): Parts =>
    readBackup(source.open(), (bytes) =>
      openBackup(bytes, needs.opening, (reason) => {
        unauthenticated ??= reason
      }),
    )
  if (source.rereadable) {
    progress?.stage('verifying the backup')
    await verifyAll(read(), signal)
  }
  const client = await connectUntil(connect, signal)
  const parts = read()
  try {
    const header = await headerOf(parts)
    const rows = await restoreAll(client, parts, header, needs).catch(async (error) => {
      await client.query('rollback').catch(() => undefined)
      throw error
    })
    await client.end()
    progress?.stage('migrating the schema and collecting statistics')
    await migrate({ connect, clock, log, ...(migrations && { migrations }) })
    await analyse(connect)
    return { rows, takenAt: header.taken_at, serviceVersion: header.service_version, unauthenticated }
  } finally {
    await parts.return(undefined)
    await client.end()
  }
}
