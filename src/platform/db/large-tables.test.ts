/** Migrations of tables with many rows: they block no writer while an index is built, and continue after a crash. */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fillNew } from '../../../test/locks/fill.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { type Catalogue, catalogueOf } from '../../../test/service/schema.ts'
import { systemClock } from '../ground/clock.ts'
import { silentLog } from '../ground/log.ts'
import { type Migration, migrate, readMigrations } from './migrate.ts'
import { splitMigration } from './split-migration.ts'

const known = await readMigrations()

const empty = async (): Promise<TestDatabase> => {
  const database = await makeTestDatabase('empty')
  onTestFinished(database.drop)
  return database
}

const connectTo = async ({ url }: TestDatabase): Promise<pg.Client> => {
  const client = new pg.Client(url)
  client.on('error', () => undefined)
  await client.connect()
  return client
}

const migrateOn = (database: TestDatabase, migrations: Migration[], log = silentLog()) =>
  migrate({ connect: () => connectTo(database), clock: systemClock, log, migrations })

const migrationOf = (name: string, sql: string): Migration => ({
  name,
  sql,
  checksum: createHash('sha256').update(sql).digest('hex'),
})

const rows = "insert into things select n, repeat('x', 200) from generate_series(1, 10000) as n"
const plain = migrationOf('0001_plain', `create table things (id int, name text); ${rows}`)
const partitioned = migrationOf(
  '0001_partitioned',
  `create table things (id int, name text) partition by range (id);
   create table things_low partition of things for values from (0) to (5000);
   create table things_other partition of things default; ${rows}`,
)
const statement = 'create index things_name on things (name) where id > 7'
const indexed = migrationOf('0002_indexed', `alter table things add column n int; ${statement}`)

/** The index itself, and its parts if the table has partitions. */
const indexesOf = (database: TestDatabase) =>
  database.sql<{ name: string; valid: boolean }>(
    `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
     where indrelid in (select oid from pg_class where relname like 'things%') order by 1`,
  )
const unfinishedIn = async (database: TestDatabase): Promise<string[]> =>
  (
    await database.sql<{ list: string[] }>("select unfinished as list from schema_migrations where name like '0002%'")
  ).flatMap(({ list }) => list)

/** A session that has written to the table and not ended its transaction. A concurrent build waits for it. */
const writeTo = async (database: TestDatabase, table: string): Promise<pg.Client> => {
  const client = await connectTo(database)
  onTestFinished(() => client.end())
  await client.query('begin')
  await client.query(`insert into ${table} (id, name) values (3, 'open')`)
  return client
}

const buildWaits = async (database: TestDatabase): Promise<void> => {
  const waiting = `select a.pid from pg_stat_activity a join pg_locks l using (pid)
    where not l.granted and l.locktype = 'virtualxid' and a.query like 'create index concurrently%'
      and a.datname = current_database()`
  await expect.poll(async () => (await database.sql(waiting)).length).toBe(1)
}

describe.each([
  { kind: 'a large table', first: plain, leaf: 'things', names: ['things_name'] },
  {
    kind: 'a large table with partitions',
    first: partitioned,
    leaf: 'things_low',
    names: ['things_low_name', 'things_name', 'things_other_name'],
  },
])('an index of $kind', ({ first, leaf, names }) => {
  const valid = names.map((name) => ({ name, valid: true }))

  test('is built while others write to the table', async () => {
    const database = await empty()
    await migrateOn(database, [first])
    const writer = await writeTo(database, leaf)
    const migration = migrationOf('0002_alone', statement)
    const migrating = migrateOn(database, [first, migration])
    await buildWaits(database)
    expect(await unfinishedIn(database)).toEqual([statement])
    await database.sql("insert into things (id, name) values (4, 'meanwhile')")
    await writer.query('commit')
    expect(await migrating).toEqual(['0002_alone'])
    expect(await indexesOf(database)).toEqual(valid)
    expect(await unfinishedIn(database)).toEqual([])
  })

  test('is built by the next start if the process died meanwhile', async () => {
    const database = await empty()
    await migrateOn(database, [first])
    const writer = await writeTo(database, leaf)
    const migration = migrationOf('0002_alone', statement)
    const migrating = migrateOn(database, [first, migration]).catch((error: Error) => error.message)
    await buildWaits(database)
    await database.sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like 'create index concurrently%' and datname = current_database()",
    )
    expect(await migrating).toMatch(/^migration 0002_alone was not finished/)
    expect((await indexesOf(database)).filter(({ valid: isValid }) => isValid)).toEqual([])
    expect(await unfinishedIn(database)).toEqual([statement])
    await writer.query('commit')
    expect(await migrateOn(database, [first, migration])).toEqual([])
    expect(await indexesOf(database)).toEqual(valid)
    expect(await unfinishedIn(database)).toEqual([])
  })

  test('is built once when several processes migrate at the same time', async () => {
    const database = await empty()
    await migrateOn(database, [first])
    const ran = await Promise.all(Array.from({ length: 4 }, () => migrateOn(database, [first, indexed])))
    expect(ran.filter((applied) => applied.length > 0)).toEqual([['0002_indexed']])
    expect(await indexesOf(database)).toEqual(valid)
    expect(await unfinishedIn(database)).toEqual([])
  })
})

describe('a migration', () => {
  const split = async (sql: string, first = plain) => {
    const database = await empty()
    await migrateOn(database, [first])
    const client = await connectTo(database)
    onTestFinished(() => client.end())
    return splitMigration(client, sql)
  }

  test('changes large tables last', async () => {
    const sql =
      'alter table things add column n int; create table others (id int); create index others_id on others (id)'
    expect(await split(sql)).toEqual({
      sql: 'create table others (id int);\ncreate index others_id on others (id);\nalter table things add column n int',
      apart: [],
    })
  })

  test('keeps its order if another statement uses the changed table', async () => {
    const sql = 'alter table things add column n int;\nupdate things set n = 1;\ncreate table others (id int)'
    expect(await split(sql)).toEqual({ sql, apart: [] })
  })

  test('builds a unique index in its transaction', async () => {
    const sql = 'create unique index things_id on things (id)'
    expect(await split(sql)).toEqual({ sql, apart: [] })
  })

  test('validates the check of a new column after its transaction', async () => {
    const sql = 'alter table things add column n bigint not null default 0 check (n >= 0)'
    expect(await split(sql)).toEqual({
      sql: 'alter table things add column n bigint not null default 0, add constraint things_n_check check (n >= 0) not valid',
      apart: ['alter table things validate constraint things_n_check'],
    })
  })

  test('builds an index in its transaction that a later statement uses', async () => {
    const sql = 'create index a on things (id);\ndrop index a'
    expect(await split(sql)).toEqual({ sql, apart: [] })
  })

  test('is not changed while its tables are small', async () => {
    const small = migrationOf('0001_small', 'create table things (id int)')
    const sql =
      'alter table things add column n int; -- a comment\ncreate index a on things (id); create table b (id int)'
    expect(await split(sql, small)).toEqual({ sql, apart: [] })
  })
})

/** Parts of an index have other names if they are built one by one. */
const withoutNames = ({ indexes }: Catalogue): string[] =>
  indexes.map((line) => line.replace(/INDEX \S+ ON/, 'INDEX ON')).sort()

test('the schema is the same whether the tables of an earlier release are empty or large', async () => {
  const [fresh, full] = [await empty(), await empty()]
  const previous = 10
  const pool = new pg.Pool({ connectionString: full.url, max: 1 })
  // Its end does not wait for the connection to close, and dropping the database ends that connection.
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  await migrateOn(full, known.slice(0, previous))
  await fillNew(pool, new Set(), 14_000)
  const built: unknown[] = []
  const log = silentLog()
  log.info = ((fields: { statement?: string }, message: string) => {
    if (message === 'finishing migration') built.push(fields.statement?.split(' ')[2])
  }) as typeof log.info
  await migrateOn(full, known, log)
  await migrateOn(fresh, known)
  for (const parent of ['messages', 'message_events', 'webhook_deliveries']) {
    for (const month of ['2026-11-01', '2026-12-01']) await fresh.sql('select ensure_month($1, $2)', [parent, month])
  }
  expect(built).toEqual(
    expect.arrayContaining([
      'usage_counters',
      'messages_dlt',
      'messages_job',
      'audit_entries_page',
      'webhook_deliveries_message',
    ]),
  )
  const [expected, found] = [await catalogueOf(fresh), await catalogueOf(full)]
  expect(withoutNames(found)).toEqual(withoutNames(expected))
  for (const part of ['columns', 'constraints', 'triggers', 'functions'] as const)
    expect(found[part]).toEqual(expected[part])
})
