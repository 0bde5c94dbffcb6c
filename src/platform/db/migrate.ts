import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type pg from 'pg'
import type { Clock } from '../ground/clock.ts'
import { sha256Hex } from '../ground/crypto.ts'
import type { Log } from '../ground/log.ts'
import { OperatorFault } from '../ground/operator-fault.ts'
import { whenUnlocked, withBriefLocks } from './brief-locks.ts'
import { runApart } from './run-apart.ts'
import { splitMigration } from './split-migration.ts'

/** Relative to this file in the source tree, and to the bundle once built. */
const folder = new URL('./migrations/', import.meta.url)

/** Any fixed number works: every process that migrates this database acquires the same lock. */
const lockId = 7_134_250_911

export type Migration = { name: string; sql: string; checksum: string }

export const readMigrations = async (): Promise<Migration[]> => {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, folder), 'utf8')
      return { name: name.replace(/\.sql$/, ''), sql, checksum: sha256Hex(sql) }
    }),
  )
}

export type Applied = { name: string; checksum: string }

const lockPauseMs = 50

/**
 * Waits for an advisory lock, which is released when the connection ends. A statement that waits for the lock would in
 * turn block the process that has it, when that builds an index concurrently.
 */
export const holdLock = async (client: pg.ClientBase, id: number): Promise<void> => {
  for (;;) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as locked', [id])
    if (rows[0].locked) return
    await wait(lockPauseMs)
  }
}

/** Waits for the schema lock. Every schema change holds it. */
export const lockSchema = async (client: pg.ClientBase): Promise<void> => {
  // The default timeout is made for requests. A migration of a large table may take longer.
  await client.query('set statement_timeout = 0')
  await holdLock(client, lockId)
}

/** For work after which the connection goes on without the lock. */
export const withSchemaLock = async (client: pg.ClientBase, work: () => Promise<void>): Promise<void> => {
  await lockSchema(client)
  await work().finally(() => client.query('select pg_advisory_unlock($1)', [lockId]))
}

export const appliedMigrations = async (client: pg.ClientBase): Promise<Applied[]> =>
  (await client.query<Applied>('select name, checksum from public.schema_migrations order by name collate "C"')).rows

/** The migrations applied to the database must be the first ones of this version's list. */
export const assertSameHistory = (done: Applied[], known: Migration[]): void => {
  done.forEach((row, i) => {
    const expected = known[i]
    if (!expected) {
      throw new OperatorFault(
        `the database has migration ${row.name}, which this version does not know: run a newer version`,
      )
    }
    if (row.name !== expected.name || row.checksum !== expected.checksum) {
      throw new OperatorFault(
        `migration ${row.name} in the database differs from ${expected.name} of this version: ` +
          'run the version that applied it',
      )
    }
  })
}

/** Earlier releases created the table without the last column. */
const makeHistory = async (client: pg.ClientBase): Promise<void> => {
  await client.query(`create table if not exists public.schema_migrations (
    name text primary key, checksum text not null, applied_at timestamptz(3) not null)`)
  const { rows } = await client.query(
    "select from pg_attribute where attrelid = 'public.schema_migrations'::regclass and attname = 'unfinished'",
  )
  if (rows.length > 0) return
  await client.query("alter table public.schema_migrations add column unfinished text[] not null default '{}'")
}

/** The caller holds the schema lock and has opened a transaction. `apart` are the statements that `sql` leaves out. */
export const applyMigration = async (
  client: pg.ClientBase,
  { name, sql, checksum }: Migration,
  at: Date,
  apart: string[] = [],
): Promise<void> => {
  await makeHistory(client)
  await client.query(sql)
  await client.query(
    'insert into public.schema_migrations (name, checksum, applied_at, unfinished) values ($1, $2, $3, $4)',
    [name, checksum, at, apart],
  )
}

const appliedIfAny = async (client: pg.ClientBase): Promise<Applied[]> => {
  const { rows } = await client.query("select to_regclass('public.schema_migrations') as found")
  return rows[0].found === null ? [] : appliedMigrations(client)
}

/** Longer than a backup of a large table, which also holds its lock. */
const defaultPatienceMs = 15 * 60_000

type Needs = {
  connect: () => Promise<pg.Client>
  clock: Clock
  log: Log
  /** Default: the files in `migrations/`. */
  migrations?: Migration[]
  /** How long to retry a migration whose tables other sessions lock. */
  patienceMs?: number
}

/** Repeats a step of a migration while other sessions have the locks that it needs. */
const retried = (migration: string, { log, patienceMs = defaultPatienceMs }: Needs, work: () => Promise<unknown>) =>
  whenUnlocked(work, {
    patienceMs,
    onLocked: ({ message }) => log.warn({ migration, reason: message }, 'migration waits for a lock'),
  })

/** Runs what applied migrations have left to be run apart, also those of a process that died meanwhile. */
const finish = async (client: pg.Client, needs: Needs): Promise<void> => {
  await makeHistory(client)
  const { rows } = await client.query<{ name: string; statement: string }>(
    'select name, unnest(unfinished) as statement from public.schema_migrations order by name collate "C"',
  )
  for (const { name, statement } of rows) {
    needs.log.info({ migration: name, statement }, 'finishing migration')
    const briefly = async (brief: string) => {
      await retried(name, needs, () => withBriefLocks(client, () => client.query(brief)))
    }
    try {
      await retried(name, needs, () => runApart(client, statement, briefly))
    } catch (error) {
      throw new OperatorFault(`migration ${name} was not finished: ${(error as Error).message}`, {
        cause: error,
      })
    }
    await client.query(
      'update public.schema_migrations set unfinished = array_remove(unfinished, $2) where name = $1',
      [name, statement],
    )
  }
}

/** Applies a migration in a transaction, then runs what it leaves to be run apart. */
const apply = async (client: pg.Client, migration: Migration, needs: Needs): Promise<void> => {
  const { name } = migration
  const work = async () => {
    const { sql, apart } = await splitMigration(client, migration.sql)
    await withBriefLocks(client, () => applyMigration(client, { ...migration, sql }, needs.clock.now(), apart))
  }
  try {
    await retried(name, needs, work)
  } catch (error) {
    throw new OperatorFault(`migration ${name} failed and was rolled back: ${(error as Error).message}`, {
      cause: error,
    })
  }
  await finish(client, needs)
}

/**
 * Applies the migrations up to `upTo` (default: all) and returns the names of those it applied. Each runs in its own
 * transaction, except that indexes of large tables are built and checks of them validated after it. Only one process
 * migrates at a time.
 */
export const migrate = async (needs: Needs, upTo?: string): Promise<string[]> => {
  const { connect, log, migrations } = needs
  const known = migrations ?? (await readMigrations())
  const client = await connect()
  const ran: string[] = []
  try {
    await lockSchema(client)
    const done = await appliedIfAny(client)
    assertSameHistory(done, known)
    const isNew = done.length === 0
    const due = known.slice(done.length).filter(({ name }) => upTo === undefined || name <= upTo)
    if (isNew) log.info({ migrations: due.length }, 'creating the tables')
    else await finish(client, needs)
    for (const migration of due) {
      const { name } = migration
      // On a new installation, a line for each would hide what else the first start prints.
      log[isNew ? 'debug' : 'info']({ migration: name }, 'applying migration')
      await apply(client, migration, needs)
      ran.push(name)
    }
  } finally {
    await client.end()
  }
  return ran
}
