import { createHash } from 'node:crypto'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { catalogueOf } from '../../../test/service/schema.ts'
import { systemClock } from '../ground/clock.ts'
import { type Log, silentLog } from '../ground/log.ts'
import { type Migration, migrate, readMigrations } from './migrate.ts'

const known = await readMigrations()

const empty = async (): Promise<TestDatabase> => {
  const database = await makeTestDatabase('empty')
  onTestFinished(database.drop)
  return database
}

const migrateOn = (
  database: TestDatabase,
  migrations?: Migration[],
  upTo?: string,
  patienceMs?: number,
  log = silentLog(),
) => {
  const connect = async () => {
    const client = new pg.Client(database.url)
    await client.connect()
    return client
  }
  return migrate(
    {
      connect,
      clock: systemClock,
      log,
      ...(migrations && { migrations }),
      ...(patienceMs !== undefined && { patienceMs }),
    },
    upTo,
  )
}

const migrationOf = (name: string, sql: string): Migration => ({
  name,
  sql,
  checksum: createHash('sha256').update(sql).digest('hex'),
})

/** A session that reads the table in an open transaction, as a backup does. */
const lockThings = async (database: TestDatabase): Promise<pg.Client> => {
  const client = new pg.Client(database.url)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  await client.query('select id from things')
  return client
}

const first = migrationOf('0001_first', 'create table things (id int primary key)')
const second = migrationOf('0002_second', 'alter table things add column name text not null default $$none$$')

const appliedIn = async (database: TestDatabase): Promise<string[]> =>
  (await database.sql<{ name: string }>('select name from schema_migrations order by name')).map((r) => r.name)

describe('the migrated schema', () => {
  test('is complete after one run on an empty database, and a second run applies nothing', async () => {
    const database = await empty()
    expect(await migrateOn(database)).toEqual(known.map(({ name }) => name))
    expect(await appliedIn(database)).toEqual(known.map(({ name }) => name))
    expect(await migrateOn(database)).toEqual([])
  })

  test('is the same whichever migration an installation starts from', async () => {
    const fresh = await empty()
    await migrateOn(fresh)
    const expected = await catalogueOf(fresh)
    expect(expected.columns.length).toBeGreaterThan(50)
    // The next test stops after every migration. Here three are enough, since each needs databases of its own.
    for (const place of [0, known.length >> 1, known.length - 2]) {
      const { name } = known[place] as Migration
      const older = await empty()
      expect((await migrateOn(older, undefined, name)).at(-1)).toBe(name)
      await migrateOn(older)
      expect(await catalogueOf(older), `from ${name}`).toEqual(expected)
    }
  })

  test('is the same when each migration is applied by a separate release', async () => {
    const fresh = await empty()
    const stepped = await empty()
    await migrateOn(fresh)
    for (let i = 0; i < known.length; i++) {
      expect(await migrateOn(stepped, known.slice(0, i + 1))).toEqual([known[i]!.name])
    }
    expect(await catalogueOf(stepped)).toEqual(await catalogueOf(fresh))
  })

  test('is compared with its defaults, types, constraints, indexes, triggers, functions and sequences', async () => {
    const database = await empty()
    await migrateOn(database)
    let before = await catalogueOf(database)
    for (const [part, change] of [
      ['columns', `alter table orgs alter column name set default 'x'`],
      ['columns', 'alter table orgs alter column name type varchar(10)'],
      ['constraints', 'alter table orgs add check (length(name) < 10)'],
      ['indexes', 'create index on orgs (name)'],
      ['triggers', 'alter table orgs disable trigger orgs_announce'],
      ['functions', 'create function nothing() returns int language sql as $$ select 1 $$'],
      ['sequences', 'create sequence counted'],
    ] as const) {
      await database.sql(change)
      const after = await catalogueOf(database)
      expect(after[part], change).not.toEqual(before[part])
      before = after
    }
  })
})

describe('migrations', () => {
  test('are numbered consecutively from 1', () => {
    const numbers = known.map(({ name }) => Number(name.slice(0, 4)))
    expect(numbers).toEqual(known.map((_, i) => i + 1))
  })

  test('are one line in the log of a new database, and a line each when a release adds them', async () => {
    const database = await empty()
    const logged: unknown[] = []
    const info = (...[fields, message]: unknown[]) => void logged.push([message, fields])
    const log: Log = { ...silentLog(), info }
    await migrateOn(database, [first, second], undefined, undefined, log)
    expect(logged).toEqual([['creating the tables', { migrations: 2 }]])
    const third = migrationOf('0003_third', 'alter table things add column note text')
    await migrateOn(database, [first, second, third], undefined, undefined, log)
    expect(logged.slice(1)).toEqual([['applying migration', { migration: '0003_third' }]])
    await migrateOn(database, [first, second, third], undefined, undefined, log)
    expect(logged).toHaveLength(2)
  })

  test('are applied once when several processes start them at the same time, and every process succeeds', async () => {
    const database = await empty()
    const ran = await Promise.all(Array.from({ length: 6 }, () => migrateOn(database)))
    expect(ran.filter((names) => names.length > 0)).toEqual([known.map(({ name }) => name)])
    expect(await appliedIn(database)).toEqual(known.map(({ name }) => name))
  })

  test('roll back only the one that fails, and continue from it once it is corrected', async () => {
    const database = await empty()
    const failing = migrationOf('0002_second', 'create table half (id int); select 1 / 0; create table whole (id int)')
    await expect(migrateOn(database, [first, failing])).rejects.toThrow(
      'migration 0002_second failed and was rolled back: division by zero',
    )
    expect(await appliedIn(database)).toEqual(['0001_first'])
    expect((await catalogueOf(database)).relations.join()).not.toContain('half')
    expect(await migrateOn(database, [first, second])).toEqual(['0002_second'])
  })

  test('leave the database empty when the first one fails', async () => {
    const database = await empty()
    await expect(migrateOn(database, [migrationOf('0001_first', 'create table a (b nosuchtype)')])).rejects.toThrow(
      'migration 0001_first failed and was rolled back: type "nosuchtype" does not exist',
    )
    expect((await catalogueOf(database)).relations).toEqual([])
  })

  test('do not block other processes when one of them fails', async () => {
    const database = await empty()
    const results = await Promise.allSettled([
      migrateOn(database, [migrationOf('0001_first', 'select pg_sleep(0.2); select 1 / 0')]),
      migrateOn(database, [first]),
      migrateOn(database, [first]),
    ])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(await appliedIn(database)).toEqual(['0001_first'])
  })

  test('reject a database whose applied migration has changed since', async () => {
    const database = await empty()
    await migrateOn(database, [first, second])
    const edited = migrationOf('0001_first', `${first.sql} -- edited`)
    await expect(migrateOn(database, [edited, second])).rejects.toThrow(
      'migration 0001_first in the database differs from 0001_first of this version',
    )
    const other = migrationOf('0002_other', 'select 1')
    await expect(migrateOn(database, [first, other])).rejects.toThrow(
      'migration 0002_second in the database differs from 0002_other of this version',
    )
  })

  test('reject a database that a newer version has migrated', async () => {
    const database = await empty()
    await migrateOn(database, [first, second])
    await expect(migrateOn(database, [first])).rejects.toThrow(
      'the database has migration 0002_second, which this version does not know: run a newer version',
    )
    expect(await appliedIn(database)).toEqual(['0001_first', '0002_second'])
  })

  test('may take longer than the statement timeout', async () => {
    const database = await empty()
    await database.sql(`alter database "${new URL(database.url).pathname.slice(1)}" set statement_timeout = 50`)
    expect(await migrateOn(database, [migrationOf('0001_first', 'select pg_sleep(0.15)')])).toEqual(['0001_first'])
  })

  test('let requests pass while another session locks their table, and are applied when it is free', async () => {
    const database = await empty()
    await migrateOn(database, [first])
    const reader = await lockThings(database)
    const migrating = migrateOn(database, [first, second])
    const waiting = () => database.sql("select 1 from pg_locks where not granted and mode = 'AccessExclusiveLock'")
    await expect.poll(async () => (await waiting()).length).toBe(1)
    // Without a limit it would wait as long as the session does, and fail.
    const request = new pg.Client({ connectionString: database.url, statement_timeout: 15_000 })
    await request.connect()
    expect((await request.query('select id from things')).rows).toEqual([])
    await request.end()
    expect(await appliedIn(database)).toEqual(['0001_first'])
    await reader.query('commit')
    expect(await migrating).toEqual(['0002_second'])
  })

  test('fail and change nothing when the lock is not free in time', async () => {
    const database = await empty()
    await migrateOn(database, [first])
    await lockThings(database)
    await expect(migrateOn(database, [first, second], undefined, 0)).rejects.toThrow(
      'migration 0002_second failed and was rolled back: canceling statement due to lock timeout',
    )
    expect(await appliedIn(database)).toEqual(['0001_first'])
  })

  test('are tried again after a deadlock with a request, which succeeds', async () => {
    const database = await empty()
    await migrateOn(database, [first])
    const request = await lockThings(database)
    await database.sql('create table others (id int)')
    const both = migrationOf('0002_both', 'lock table others; alter table things add column name text')
    const migrating = migrateOn(database, [first, both])
    const waiting = () => database.sql("select 1 from pg_locks where not granted and mode = 'AccessExclusiveLock'")
    await expect.poll(async () => (await waiting()).length).toBe(1)
    await request.query('select id from others')
    await request.query('commit')
    expect(await migrating).toEqual(['0002_both'])
  })
})
