import { readdir, readFile } from 'node:fs/promises'
import type pg from 'pg'
import type { Clock } from '../ground/clock.ts'
import { sha256Hex } from '../ground/crypto.ts'
import type { Log } from '../ground/log.ts'

/** Resolves beside this file in the source tree and beside the bundle once built. */
const folder = new URL('./migrations/', import.meta.url)

/** Any fixed number: every process that migrates this database takes the same lock. */
const lockId = 7_134_250_911

/** A schema this version cannot work with, told so that a person can act on it. */
export class SchemaFault extends Error {}

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

/** Waits its turn: whoever changes the schema holds this until its connection ends. */
export const lockSchema = async (client: pg.ClientBase): Promise<void> => {
  // The default timeout suits requests; a migration on a large table may take its time.
  await client.query('set statement_timeout = 0')
  await client.query('select pg_advisory_lock($1)', [lockId])
}

export const appliedMigrations = async (client: pg.ClientBase): Promise<Applied[]> =>
  (await client.query<Applied>('select name, checksum from public.schema_migrations order by name collate "C"')).rows

/** What the database went through must be how this version's own list begins. */
export const assertSameHistory = (done: Applied[], known: Migration[]): void => {
  done.forEach((row, i) => {
    const expected = known[i]
    if (!expected) {
      throw new SchemaFault(`the database has migration ${row.name}, which this version does not know: run a newer one`)
    }
    if (row.name !== expected.name || row.checksum !== expected.checksum) {
      throw new SchemaFault(`migration ${row.name} in the database differs from ${expected.name} of this version`)
    }
  })
}

/** Under the schema's lock and inside a transaction of the caller's. */
export const applyMigration = async (
  client: pg.ClientBase,
  { name, sql, checksum }: Migration,
  at: Date,
): Promise<void> => {
  await client.query(`create table if not exists public.schema_migrations (
    name text primary key, checksum text not null, applied_at timestamptz(3) not null)`)
  await client.query(sql)
  await client.query('insert into public.schema_migrations values ($1, $2, $3)', [name, checksum, at])
}

const history = async (client: pg.ClientBase): Promise<Applied[]> => {
  const { rows } = await client.query("select to_regclass('public.schema_migrations') as found")
  return rows[0].found === null ? [] : appliedMigrations(client)
}

type Needs = {
  connect: () => Promise<pg.Client>
  clock: Clock
  log: Log
  /** Default: the files beside this one. */
  migrations?: Migration[]
}

/** Brings the schema up to `upTo` (default: all), each file in its own transaction, one process at a time. */
export const migrate = async ({ connect, clock, log, migrations }: Needs, upTo?: string): Promise<string[]> => {
  const known = migrations ?? (await readMigrations())
  const client = await connect()
  const ran: string[] = []
  try {
    await lockSchema(client)
    const done = await history(client)
    assertSameHistory(done, known)
    for (const migration of known.slice(done.length)) {
      const { name } = migration
      if (upTo !== undefined && name > upTo) break
      log.info({ migration: name }, 'migrating')
      await client.query('begin')
      try {
        await applyMigration(client, migration, clock.now())
        await client.query('commit')
      } catch (error) {
        // Where this fails too the connection is gone, and the server undoes the rest by itself.
        await client.query('rollback').catch(() => undefined)
        throw new SchemaFault(`migration ${name} failed and was undone: ${(error as Error).message}`, {
          cause: error,
        })
      }
      ran.push(name)
    }
  } finally {
    await client.end()
  }
  return ran
}
