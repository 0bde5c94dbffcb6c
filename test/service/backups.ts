/** Databases to back up and restore, and helpers that compare their contents. */
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import { type Opening, openBackup } from '../../src/app/operator/open-backup.ts'
import { restore } from '../../src/app/operator/restore.ts'
import { type Migration, migrate, readMigrations } from '../../src/platform/db/migrate.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import { makeTestDatabase, type TestDatabase } from './database.ts'
import { catalogueOf } from './schema.ts'

export const testMigration = (name: string, sql: string): Migration => ({
  name,
  sql,
  checksum: createHash('sha256').update(sql).digest('hex'),
})

export const known = await readMigrations()

/** Covers what later migrations may contain: every kind of column, reference, partition, sequence and trigger. */
export const strange = testMigration(
  '9001_strange',
  `create type mood as enum ('fine', 'so so');
   create table "Odd ""Name""" ("a b" text, "c""d" int, "select" mood);
   create table kinds (
     id bigint generated always as identity primary key,
     words text, bytes bytea, tree jsonb, list text[], grid int[][], at timestamptz, day date, span interval,
     exact numeric, rough double precision, flag boolean, address inet, uuid uuid, mood mood,
     twice int generated always as (length(words) * 2) stored,
     touched int not null default 0
   );
   create table hens (id int primary key, egg int);
   create table eggs (id int primary key, hen int not null references hens (id), unique nulls not distinct (hen));
   alter table hens add constraint hens_egg foreign key (egg) references eggs (id) deferrable initially deferred;
   create table nodes (id int primary key, parent int references nodes (id) on delete cascade);
   create table letters (org_id text not null references orgs (id), id int not null, sent_at timestamptz(3) not null,
     body text, primary key (org_id, id, sent_at)) partition by range (sent_at);
   create index letters_page on letters (org_id, sent_at desc) where body is not null;
   create table letters_2026_01 partition of letters for values from ('2026-01-01') to ('2026-02-01');
   create table replies (org_id text, letter_id int, sent_at timestamptz(3),
     foreign key (org_id, letter_id, sent_at) references letters (org_id, id, sent_at));
   create table regions (name text, id int) partition by list (name);
   create table regions_eu partition of regions for values in ('eu', 'it''s') partition by hash (id);
   create table regions_eu_0 partition of regions_eu for values with (modulus 2, remainder 0);
   create table regions_eu_1 partition of regions_eu for values with (modulus 2, remainder 1);
   create table regions_rest partition of regions default;
   create sequence tickets increment by 5 start with 100;
   create table trigger_log (event text);
   create function log_change() returns trigger language plpgsql as $$
   begin
     perform pg_notify('changes', tg_op);
     insert into trigger_log values (tg_table_name || ' ' || tg_op);
     new.touched := new.touched + 1;
     return new;
   end $$;
   create trigger kinds_log before insert or update on kinds for each row execute function log_change();
   create trigger kinds_always after insert on kinds for each row execute function log_change();
   alter table kinds enable always trigger kinds_always;
   create trigger kinds_off before insert on kinds for each row execute function log_change();
   alter table kinds disable trigger kinds_off;
   create index kinds_words on kinds (lower(left(words, 20))) where flag;
   create index kinds_tree on kinds using gin (tree);`,
)
export const later = testMigration(
  '9002_later',
  `alter table kinds add column added text not null default 'by a later version';
   create table later (id int primary key);`,
)

export const withStrange = [...known, strange]

const folder = await mkdtemp(join(tmpdir(), 'tidings-backup-'))

// One folder for all test files of the worker.
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

export const masterKey = randomBytes(32)
export const opening: Opening = { masterKeys: [masterKey], identities: [], allowUnauthenticated: false }

let files = 0
export const fileName = (): string => join(folder, `${++files}.backup`)

export const empty = async (): Promise<TestDatabase> => {
  const database = await makeTestDatabase('empty')
  onTestFinished(database.drop)
  return database
}

/** A database with the migrations of this version, which the template already has, and any others in the list. */
export const migrated = async (migrations: Migration[]): Promise<TestDatabase> => {
  const database = await makeTestDatabase('migrated')
  onTestFinished(database.drop)
  await migrate({ ...needsOf(database), migrations })
  return database
}

export const connectTo = (database: TestDatabase) => async () => {
  const client = new pg.Client(database.url)
  client.on('error', () => undefined)
  await client.connect()
  return client
}

export const needsOf = (database: TestDatabase) => ({
  connect: connectTo(database),
  clock: systemClock,
  log: silentLog(),
  serviceVersion: '1.2.3',
  masterKey,
  opening,
})

export const fileSource = (path: string) => ({ open: () => createReadStream(path), rereadable: true })
export const pipeSource = (bytes: Buffer) => ({ open: () => Readable.from([bytes]), rereadable: false })

type RestoreOptions = { allowUnauthenticated?: boolean }

/** Restores with the migrations of this version and `strange`, unless `migrations` is given. */
export const restoreInto = (
  database: TestDatabase,
  source: Parameters<typeof restore>[1],
  migrations = withStrange,
  options: RestoreOptions = {},
) => restore({ ...needsOf(database), migrations, opening: { ...opening, ...options } }, source)

/** The gzipped content of a backup. */
export const contentOf = async (path: string): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of openBackup(createReadStream(path), opening, () => undefined)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const tablesOf = async (database: TestDatabase): Promise<string[]> =>
  (
    await database.sql<{ name: string }>(
      `select format('%I', relname) as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> 'schema_migrations'`,
    )
  ).map(({ name }) => name)

/** A digest of the rows of each table, and the state of each sequence. */
export const contentsOf = async (database: TestDatabase): Promise<Record<string, unknown>> => {
  const contents: Record<string, unknown> = {}
  for (const table of await tablesOf(database)) {
    const [row] = await database.sql(
      `select count(*)::int as rows, md5(string_agg(t::text, E'\\n' order by t::text collate "C")) as digest
       from ${table} t`,
    )
    contents[table] = row
  }
  for (const { name } of await database.sql<{ name: string }>(
    `select sequencename as name from pg_sequences where schemaname = 'public'`,
  )) {
    ;[contents[`sequence ${name}`]] = await database.sql(`select last_value, is_called from "${name}"`)
  }
  return contents
}

/** Expects that the database has no table, type or function. */
export const expectEmptySchema = async (database: TestDatabase): Promise<void> => {
  const { relations, types, functions } = await catalogueOf(database)
  expect({ relations, types, functions }).toEqual({ relations: [], types: [], functions: [] })
}
