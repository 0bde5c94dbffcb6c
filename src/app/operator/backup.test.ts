import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { Readable, Writable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  connectTo,
  contentOf,
  contentsOf,
  empty,
  fileName,
  fileSource,
  known,
  later,
  migrated,
  needsOf,
  pipeSource,
  restoreInto,
  testMigration,
  withStrange,
} from '../../../test/service/backups.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { catalogueOf } from '../../../test/service/schema.ts'
import { migrate } from '../../platform/db/migrate.ts'
import { backUp, backUpToFile } from './backup.ts'
import { readBackup } from './backup-format.ts'

const hostile = [
  '',
  ' ',
  'plain',
  '\\.',
  '\n\\.\n',
  '\\.\n',
  '\\N',
  '\\\\',
  'tab\there',
  'line\nbreak\r\nand return\rand \u2028',
  '\b\f\v\u0001\u001f\u007f',
  'ünïcödé 漢字 🜁 👩‍👩‍👧 \u{10ffff}',
  'quote \' and " and ` and $$',
  '{"table":"orgs"}',
  '{"rows":{},"sha256":""}',
  '\ufeffbom',
  'x'.repeat(100_000),
  '\\.\n'.repeat(40_000),
]

/** Adds partitions that no migration creates, as a running service does. */
const addMonths = async (database: TestDatabase): Promise<void> => {
  await database.sql(`create table letters_2026_02 partition of letters
    for values from ('2026-02-01') to ('2026-03-01')`)
  await database.sql('create table letters_rest partition of letters default')
}

const fillWithHostile = async (database: TestDatabase): Promise<void> => {
  const at = '2026-01-15T10:00:00.123Z'
  await database.sql(
    `insert into orgs (id, name, slug, plan, created_at, updated_at) values ('org_1', $1, 'a', 'pro', $2, $2)`,
    ['Acme\\.\n', at],
  )
  await database.sql(
    `insert into users (id, email, default_org_id, created_at, updated_at) values ('usr_1', 'a@b', 'org_1', $1, $1)`,
    [at],
  )
  await database.sql(`update orgs set owner_user_id = 'usr_1'`)
  await database.sql('alter table kinds disable trigger all')
  for (const words of [...hostile, null]) {
    await database.sql(`insert into kinds (words, bytes, tree, list, at, flag) values ($1, $2, $3, $4, $5, $6)`, [
      words,
      words === null ? null : Buffer.from(words),
      JSON.stringify({ words, nested: [words, null, 1.5e300] }),
      [words, null, 'NULL', '', '{}', ',"'],
      '2026-01-01T00:00:00.123456Z',
      words === null ? null : words.length > 5,
    ])
  }
  await database.sql(`insert into kinds (bytes, grid, at, day, span, exact, rough, address, uuid, mood, tree, list)
    values ('\\x00ff0a5c2e0a', '{{1,2},{3,4}}', 'infinity', '-infinity', '1 mon -3 days 04:05:06.789012', 'NaN',
        '-infinity', '2001:db8::/32', gen_random_uuid(), 'so so', 'null', '{}'),
      ('', null, '4713-01-01 BC', '5000-12-31', '-1 us', 12345678901234567890.123456789012345678901234567890,
        4.9e-324, '10.0.0.1', null, 'fine', '"\\u001f"', null),
      (null, '[2:3][0:1]={{1,2},{3,4}}', '2026-06-01 12:00:00.000001+00', null, null, -0.0,
        '-0', null, null, null, null, null)`)
  await database.sql('alter table kinds enable trigger kinds_log')
  await database.sql('alter table kinds enable always trigger kinds_always')
  await database.sql(`insert into "Odd ""Name""" values ('x', 1, 'fine'), (null, null, null)`)
  await database.sql('begin; insert into hens values (1, 1), (2, null); insert into eggs values (1, 1), (2, 2); commit')
  await database.sql('insert into nodes values (2, null), (1, 2), (3, 1)')
  await addMonths(database)
  await database.sql(`insert into letters
    select 'org_1', i, '2026-01-01'::timestamptz + i * interval '1 day', 'body ' || i
    from generate_series(1, 90) i`)
  await database.sql(`insert into replies select org_id, id, sent_at from letters`)
  await database.sql(
    `insert into regions select (array['eu', 'it''s', 'us', null])[1 + i % 4], i from generate_series(1, 40) i`,
  )
  await database.sql(`select nextval('tickets'), nextval('tickets')`)
}

describe('a backup restored into an empty database', () => {
  let source: TestDatabase
  let file: string

  beforeAll(async () => {
    source = await makeTestDatabase('empty')
    await migrate({ ...needsOf(source), migrations: withStrange })
    await fillWithHostile(source)
    file = fileName()
    await backUpToFile(needsOf(source), file)
  })

  afterAll(() => source.drop())

  test('has the same rows, sequences and schema', async () => {
    const target = await empty()
    const { rows } = await restoreInto(target, fileSource(file))
    const contents = await contentsOf(source)
    expect(await contentsOf(target)).toEqual(contents)
    expect(contents['sequence tickets']).toEqual({ last_value: '105', is_called: true })
    expect(await catalogueOf(target)).toEqual(await catalogueOf(source))
    expect(rows).toMatchObject({ kinds: hostile.length + 4, letters: 90, orgs: 1, trigger_log: 0 })
  })

  test('has the same rows when it is read from a pipe', async () => {
    const target = await empty()
    await restoreInto(target, pipeSource(await readFile(file)))
    expect(await contentsOf(target)).toEqual(await contentsOf(source))
  })

  test('has the same rows and schema when the empty schema exists, and sends no notifications', async () => {
    const target = await migrated(withStrange)
    const service = await connectTo(target)()
    await service.query('listen changes; listen callers_changed')
    const notified: string[] = []
    service.on('notification', ({ channel }) => notified.push(channel))
    await restoreInto(target, fileSource(file))
    expect(await contentsOf(target)).toEqual(await contentsOf(source))
    expect(await catalogueOf(target)).toEqual(await catalogueOf(source))
    await service.query('select 1')
    expect(notified).toEqual([])
    await service.end()
  })

  test('has the same rows when part of the schema exists', async () => {
    const target = await migrated(known)
    await restoreInto(target, fileSource(file))
    expect(await contentsOf(target)).toEqual(await contentsOf(source))
  })

  test('is migrated to the schema of a newer version, whose tables may exist already', async () => {
    for (const target of [await empty(), await migrated([...withStrange, later])]) {
      await restoreInto(target, fileSource(file), [...withStrange, later])
      const [kinds] = await target.sql('select count(*)::int as count, min(added) as added from kinds')
      expect(kinds).toEqual({ count: hostile.length + 4, added: 'by a later version' })
      const fresh = await migrated([...withStrange, later])
      await addMonths(fresh)
      expect(await catalogueOf(target)).toEqual(await catalogueOf(fresh))
    }
  })

  test('has working constraints, identity columns and triggers', async () => {
    const target = await empty()
    await restoreInto(target, fileSource(file))
    await expect(target.sql('insert into eggs values (9, 99)')).rejects.toMatchObject({ code: '23503' })
    await expect(target.sql(`update orgs set owner_user_id = 'usr_9'`)).rejects.toMatchObject({
      code: '23503',
    })
    await expect(target.sql('insert into eggs values (9, 1)')).rejects.toMatchObject({ code: '23505' })
    const [last] = await target.sql<{ id: string }>('select max(id) as id from kinds')
    const [next] = await target.sql<{ id: string }>(
      `insert into kinds (words) values ('next') returning id, twice, touched`,
    )
    expect(next).toEqual({ id: String(Number(last!.id) + 1), twice: 8, touched: 1 })
    expect(await target.sql('select event from trigger_log')).toEqual([
      { event: 'kinds INSERT' },
      { event: 'kinds INSERT' },
    ])
    expect(await target.sql(`select nextval('tickets')`)).toEqual([{ nextval: '110' }])
  })

  test('has planner statistics', async () => {
    const target = await empty()
    await restoreInto(target, fileSource(file))
    const [found] = await target.sql<{ columns: number }>(
      `select count(*)::int as columns from pg_stats where tablename = 'letters_2026_01'`,
    )
    expect(found!.columns).toBe(4)
  })

  test('can be backed up again with the same content', async () => {
    const target = await empty()
    await restoreInto(target, fileSource(file))
    const second = fileName()
    await backUpToFile(needsOf(target), second)
    const partsOf = async (path: string) => {
      const rows: Record<string, string[]> = {}
      let table = ''
      for await (const part of readBackup(Readable.from([await contentOf(path)]))) {
        if (part.kind === 'table') table = part.table
        if (part.kind === 'rows') rows[table] = [...(rows[table] ?? []), part.bytes.toString()]
      }
      return Object.fromEntries(Object.entries(rows).map(([name, texts]) => [name, texts.join('').split('\n').sort()]))
    }
    expect(await partsOf(second)).toEqual(await partsOf(file))
  })

  test('is a file that only its owner can read, with a header line', async () => {
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(existsSync(`${file}.partial`)).toBe(false)
    const [first = ''] = gunzipSync(await contentOf(file))
      .toString()
      .split('\n')
    expect(JSON.parse(first)).toMatchObject({
      tidings_backup: 1,
      service_version: '1.2.3',
      migrations: withStrange.map(({ name, checksum }) => ({ name, checksum })),
    })
  })
})

test('any text, bytes and JSON are restored unchanged', async () => {
  const source = await migrated(withStrange)
  await source.sql('alter table kinds disable trigger all')
  const storable = fc.string({ unit: 'binary', maxLength: 40 }).filter((text) => !text.includes('\0'))
  const awkward = fc
    .array(fc.constantFrom('\\', '.', '\n', '\r', '\t', 'N', '"', '{', '}', ',', 'é', '\u2028'), {
      maxLength: 12,
    })
    .map((parts) => parts.join(''))
  const values = fc.sample(
    fc.tuple(fc.option(fc.oneof(storable, awkward)), fc.option(fc.uint8Array({ maxLength: 30 })), fc.json()),
    250,
  )
  await source.sql(
    `insert into kinds (words, bytes, tree, list)
     select words, bytes, tree::json::jsonb, array[words] from unnest($1::text[], $2::bytea[], $3::text[])
       as v (words, bytes, tree)`,
    [
      values.map(([words]) => words),
      values.map(([, bytes]) => bytes && Buffer.from(bytes)),
      values.map(([, , tree]) => tree.replaceAll('\\u0000', '')),
    ],
  )
  const file = fileName()
  await backUpToFile(needsOf(source), file)
  const target = await empty()
  await restoreInto(target, fileSource(file))
  expect(await contentsOf(target)).toEqual(await contentsOf(source))
})

test('a backup that is taken during writes is a consistent snapshot', async () => {
  const accounts = testMigration(
    '9001_accounts',
    `create table a_left (id int primary key, cents int not null);
     create table a_notes (id bigint generated always as identity, note text);
     create table m_bulk as select i, repeat(md5(i::text), 4) as text from generate_series(1, 60000) i;
     create table z_right (id int primary key, cents int not null);
     create table z_notes (id bigint generated always as identity, note text);
     insert into a_left select i, 100 from generate_series(1, 20) i;
     insert into z_right select i, 100 from generate_series(1, 20) i;`,
  )
  const empties = testMigration('9002_none', 'truncate a_left, z_right, m_bulk')
  const source = await migrated([...known, accounts])
  let writing = true
  let moved = 0
  const write = async () => {
    const client = await connectTo(source)()
    while (writing) {
      const [one, other, cents] = [1, 2, 3].map(() => 1 + Math.floor(Math.random() * 20))
      await client
        .query(`begin; update z_right set cents = cents + ${cents} where id = ${one};
        update a_left set cents = cents - ${cents} where id = ${other};
        insert into a_notes (note) values ('moved'); insert into z_notes (note) values ('moved'); commit`)
        .catch(() => client.query('rollback'))
      moved++
    }
    await client.end()
  }
  const writers = [write(), write(), write()]
  await expect.poll(() => moved).toBeGreaterThan(20)
  const chunks: Buffer[] = []
  const out = new Writable({
    write: (chunk, _, done) => {
      chunks.push(chunk)
      done()
    },
  })
  const { rows } = await backUp(needsOf(source), out)
  writing = false
  await Promise.all(writers)
  const [after] = await source.sql<{ count: number }>('select count(*)::int as count from a_notes')
  expect(after!.count).toBeGreaterThan(rows.a_notes!)

  const target = await empty()
  // The same name and checksum, but without the rows that the migration inserts in the source.
  const emptied = { ...accounts, sql: `${accounts.sql};${empties.sql}` }
  await restoreInto(target, pipeSource(Buffer.concat(chunks)), [...known, emptied])
  const [sums] = await target.sql(`select
    (select sum(cents) from a_left)::int + (select sum(cents) from z_right)::int as cents,
    (select count(*) from a_notes) - (select count(*) from z_notes) as difference,
    (select count(*) from m_bulk)::int as bulk`)
  expect(sums).toEqual({ cents: 4_000, difference: '0', bulk: 60_000 })
  expect(await target.sql('select count(*)::int as notes from a_notes')).toEqual([{ notes: rows.a_notes }])
})

describe('backup', () => {
  test('rejects a database without Tidings tables', async () => {
    const file = fileName()
    await expect(backUpToFile(needsOf(await empty()), file)).rejects.toThrow('There is nothing to back up')
    expect([existsSync(file), existsSync(`${file}.partial`)]).toEqual([false, false])
  })

  test('never overwrites a file, and removes the partial file of a killed backup', async () => {
    const source = await migrated(known)
    const file = fileName()
    await writeFile(`${file}.partial`, 'half a backup', { mode: 0o644 })
    await backUpToFile(needsOf(source), file)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const before = await readFile(file)
    await expect(backUpToFile(needsOf(source), file)).rejects.toThrow('already exists. Choose another file name.')
    expect(await readFile(file)).toEqual(before)
  })

  test('leaves no file when it fails or is aborted', async () => {
    const source = await migrated(known)
    await source.sql(`insert into settings select 's' || i, to_jsonb(repeat(md5(i::text), 50)), '2026-01-01'
      from generate_series(1, 2000) i`)
    const stop = new AbortController()
    const aborted = fileName()
    const progress = {
      bytes: () => stop.abort(new Error('aborted')),
      table: () => undefined,
      stage: () => undefined,
    }
    await expect(backUpToFile({ ...needsOf(source), progress, signal: stop.signal }, aborted)).rejects.toThrow()
    const disconnected = fileName()
    let client: pg.Client | undefined
    const connect = async () => {
      client = await connectTo(source)()
      return client
    }
    const disconnect = { bytes: () => void client!.end(), table: () => undefined, stage: () => undefined }
    await expect(backUpToFile({ ...needsOf(source), connect, progress: disconnect }, disconnected)).rejects.toThrow()
    for (const file of [aborted, disconnected]) {
      expect([existsSync(file), existsSync(`${file}.partial`)]).toEqual([false, false])
    }
  })

  test('fails instead of omitting rows that a row security policy hides', async () => {
    const source = await migrated(known)
    await source.sql('alter table settings enable row level security; alter table settings force row level security')
    const [{ superuser }] = (await source.sql<{ superuser: boolean }>(
      'select rolsuper as superuser from pg_roles where rolname = current_user',
    )) as [{ superuser: boolean }]
    const file = fileName()
    const backup = backUpToFile(needsOf(source), file)
    if (superuser) await backup
    else await expect(backup).rejects.toMatchObject({ code: '42501' })
  })

  test('covers every kind of object in the schema', async () => {
    const source = await makeTestDatabase()
    onTestFinished(source.drop)
    const kinds = await source.sql<{ relkind: string }>(
      `select distinct relkind from pg_class where relnamespace = 'public'::regnamespace order by relkind`,
    )
    // Tables, partitioned tables, their indexes, sequences and views. Any other kind could contain data too.
    for (const { relkind } of kinds) expect(['r', 'p', 'i', 'I', 'S', 'v', 'c']).toContain(relkind)
    expect(
      await source.sql(`select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'`),
    ).toEqual([{ nspname: 'public' }])
    expect(await source.sql('select oid from pg_largeobject_metadata')).toEqual([])
  })
})

test('messages are restored into their monthly partitions, and new partitions can be created', async () => {
  const source = await migrated(known)
  for (const month of ['2026-01-01', '2026-02-01']) {
    await source.sql("select ensure_month('messages', $1::date), ensure_month('message_events', $1::date)", [month])
  }
  await source.sql(`insert into messages (org_id, id, created_at, environment, project_id, channel, status,
      from_address, to_addresses, tags)
    select 'org_1', 'msg_' || i, '2026-01-15Z'::timestamptz + i * interval '30 days', 'live', 'prj_1', 'email', 'sent',
      'a@b.test', '{Ann@reader.test}', '{welcome}'
    from generate_series(0, 3) i`)
  const file = fileName()
  await backUpToFile(needsOf(source), file)
  const target = await empty()
  await restoreInto(target, fileSource(file), known)
  expect(await contentsOf(target)).toEqual(await contentsOf(source))
  expect(await catalogueOf(target)).toEqual(await catalogueOf(source))
  const places = await target.sql<{ place: string }>(
    'select tableoid::regclass::text as place from messages order by id',
  )
  expect(places.map(({ place }) => place)).toEqual([
    'messages_2026_01',
    'messages_2026_02',
    'messages_other',
    'messages_other',
  ])
  // March cannot be created, because its rows are in the default partition. July can.
  for (const month of ['2026-03-01', '2026-07-01'])
    await target.sql("select ensure_month('messages', $1::date)", [month])
  const created = await target.sql("select 1 from pg_class where relname in ('messages_2026_03', 'messages_2026_07')")
  expect(created).toHaveLength(1)
})
