import { chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  cleanUp,
  fastSettings,
  query,
  run,
  start,
  temporaryFolder,
  usedFolder,
} from '../../../../test/service/embedded.ts'
import { systemClock } from '../../ground/clock.ts'
import { silentLog } from '../../ground/log.ts'
import { migrate } from '../migrate.ts'
import { type Account, serverAccount } from './account.ts'
import { nativeFolder, usableBinaries } from './binaries.ts'
import { markOf } from './cluster.ts'
import { findLayout } from './folder.ts'
import { endPostmaster, freePort, launch, type Postmaster } from './postmaster.ts'
import type { Embedded } from './supervisor.ts'

afterAll(cleanUp)

const denied = { code: '42501' }

/** What only a superuser, or a role with special grants, can do. */
const expectPlainRole = async (url: string): Promise<void> => {
  expect(
    await query(
      url,
      `select rolname, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, rolcanlogin,
         (select count(*)::int from pg_auth_members m where m.member = r.oid) as memberships
       from pg_roles r where rolname in (current_user, session_user)`,
    ),
  ).toEqual([
    {
      rolname: 'tidings',
      rolsuper: false,
      rolcreatedb: false,
      rolcreaterole: false,
      rolreplication: false,
      rolbypassrls: false,
      rolcanlogin: true,
      memberships: 0,
    },
  ])
  for (const sql of [
    `copy (select 'x') to program 'cat'`,
    `copy (select 'x') to '/tmp/tidings-copied'`,
    `create temp table read (line text); copy read from '/etc/passwd'`,
    `select pg_read_file('/etc/passwd')`,
    `select pg_read_file('postgresql.conf')`,
    `select pg_ls_dir('.')`,
    `select lo_import('/etc/passwd')`,
    'select rolpassword from pg_authid',
    `alter system set shared_preload_libraries = 'x'`,
    'create role other superuser',
    'alter role tidings superuser',
    'set role tidings_maintenance',
    'set session authorization tidings_maintenance',
    'create extension file_fdw',
    `create function f() returns int language c as 'libc', 'getpid'`,
  ]) {
    await expect(query(url, sql), sql).rejects.toMatchObject(
      // The package contains no extensions, so PostgreSQL may look for their files before it looks at the rights.
      sql.startsWith('create extension') ? { code: expect.stringMatching(/^(42501|0A000|58P01)$/) } : denied,
    )
  }
}

const connectTo = (url: string) => async () => {
  const client = new pg.Client(url)
  await client.connect()
  return client
}

describe('the role of a new embedded database', { timeout: 30_000 }, () => {
  let dataDir: string
  let embedded: Embedded

  beforeAll(async () => {
    dataDir = await usedFolder()
    embedded = await start(dataDir)
    return () => embedded.stop()
  }, 30_000)

  test('is no superuser, and can neither run programs nor read files of the server', async () => {
    await expectPlainRole(embedded.url)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
  })

  test('can migrate, make partitions and use a schema of its own', async () => {
    await migrate({ connect: connectTo(embedded.url), clock: systemClock, log: silentLog() })
    await query(embedded.url, `select ensure_month('messages', '2026-03-01')`)
    await query(embedded.url, 'create schema queue; create table queue.jobs (id int); drop schema queue cascade')
    expect(await query(embedded.url, `select tableowner from pg_tables where tablename = 'messages_2026_03'`)).toEqual([
      { tableowner: 'tidings' },
    ])
  })

  test('leaves the superuser to maintenance, with a password of its own in a private file', async () => {
    expect((await stat(join(dataDir, 'postgres.maintenance'))).mode & 0o777).toBe(0o600)
    const [password, maintenancePassword] = await Promise.all(
      ['postgres.password', 'postgres.maintenance'].map((name) => readFile(join(dataDir, name), 'utf8')),
    )
    expect(maintenancePassword).not.toBe(password)
    expect(embedded.maintenanceUrl).toContain(`tidings_maintenance:${maintenancePassword?.trim()}@127.0.0.1:`)
    expect(
      await query(embedded.maintenanceUrl ?? '', `select rolname from pg_roles where rolsuper and rolcanlogin`),
    ).toEqual([{ rolname: 'tidings_maintenance' }])
  })

  test('gets its database again if it was dropped, and owns it', async () => {
    const dropped = await usedFolder()
    const first = await start(dropped)
    await query(`${first.maintenanceUrl?.replace(/tidings$/, 'postgres')}`, 'drop database tidings with (force)')
    await first.stop()
    const second = await start(dropped)
    expect(
      await query(
        second.url,
        'select datdba::regrole::text as owner from pg_database where datname = current_database()',
      ),
    ).toEqual([{ owner: 'tidings' }])
    await second.stop()
  })
})

describe('a database that an earlier release created with a superuser', { timeout: 60_000 }, () => {
  const password = 'a-password-of-the-earlier-release'

  /** Every kind of object, each owned by the superuser. */
  const earlierObjects = [
    'create schema pgboss',
    'create table pgboss.job (id bigint generated always as identity primary key)',
    `create type mood as enum ('fine', 'so so')`,
    'create domain short as text check (length(value) < 9)',
    'create type pair as (a int, b int)',
    'create table kept (id serial primary key, word text, twice int generated always as (length(word) * 2) stored)',
    `insert into kept (word) select 'row ' || i from generate_series(1, 1000) i`,
    'create table parts (at date not null) partition by range (at)',
    `create table parts_1 partition of parts for values from ('2026-01-01') to ('2026-02-01')`,
    'create view seen as select word from kept',
    'create materialized view counted as select count(*) as rows from kept',
    'create sequence tickets start 7',
    'create function twice(n int) returns int language sql as $$ select n * 2 $$',
    'create procedure nothing() language sql as $$ select 1 $$',
  ]

  const earlierFolder = async (statements = earlierObjects): Promise<string> => {
    const dataDir = join(await temporaryFolder(), 'data')
    const cluster = join(dataDir, 'postgres')
    await mkdir(cluster, { recursive: true, mode: 0o755 })
    await writeFile(join(dataDir, 'postgres.password'), `${password}\n`, { mode: 0o600 })
    await writeFile(join(dataDir, 'initial'), password)
    const account: Account | null = await serverAccount(cluster)
    if (account) {
      await chown(cluster, account.uid, account.gid)
      await chown(join(dataDir, 'initial'), account.uid, account.gid)
    }
    const binaries = await usableBinaries(nativeFolder(), account, '/var/lib/tidings/binaries')
    await run(
      binaries.initdb,
      ['-D', cluster, '-U', 'tidings', `--pwfile=${join(dataDir, 'initial')}`, '--auth=scram-sha-256', '--no-sync'],
      { cwd: '/', env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' }, ...account },
    )
    const layout = (await findLayout(dataDir))!
    const server = { layout, binaries, account, mark: await markOf(cluster), settings: fastSettings, log: silentLog() }
    const postmaster = (await launch(server, await freePort())) as Postmaster
    const url = `postgres://tidings:${password}@127.0.0.1:${postmaster.port}`
    await query(`${url}/postgres`, 'create database tidings')
    for (const statement of statements) await query(`${url}/tidings`, statement)
    await endPostmaster(postmaster, server.mark)
    return dataDir
  }

  const contents = (url: string) =>
    query(url, `select count(*)::int as rows, sum(twice)::int as twice, max(id) as last from kept`)

  test('keeps its data and gets a plain role that owns everything in it', async () => {
    const dataDir = await earlierFolder()
    const embedded = await start(dataDir)
    expect(embedded.url).toContain(`tidings:${password}@`)
    await expectPlainRole(embedded.url)
    expect(await contents(embedded.url)).toEqual([{ rows: 1_000, twice: 13_786, last: 1_000 }])
    expect(
      await query(
        embedded.url,
        `select distinct owner::regrole::text as owner from (
           select relowner as owner from pg_class where oid >= 16384 union all
           select proowner from pg_proc where oid >= 16384 union all
           select typowner from pg_type where oid >= 16384 union all
           select nspowner from pg_namespace where oid >= 16384 union all
           select datdba from pg_database where datname = current_database()) owners`,
      ),
    ).toEqual([{ owner: 'tidings' }])
    expect(await query(embedded.maintenanceUrl ?? '', 'select rolname from pg_roles where rolsuper')).toEqual([
      { rolname: 'tidings_maintenance' },
    ])
    // As its owner, the role can change everything, also what a sequence or a partitioned table depends on.
    await query(
      embedded.url,
      `alter table kept add column added int; insert into kept (word) values ('new');
       create table parts_2 partition of parts for values from ('2026-02-01') to ('2026-03-01');
       refresh materialized view counted; drop schema pgboss cascade; drop type pair; drop domain short;
       select nextval('tickets'); drop routine twice(int), nothing()`,
    )
    await embedded.stop()
  })

  test('is changed once: the next start finds the plain role and changes nothing', async () => {
    const dataDir = await earlierFolder(['create table kept (id int, word text)'])
    await (await start(dataDir)).stop()
    const before = await readFile(join(dataDir, 'postgres.maintenance'), 'utf8')
    const again = await start(dataDir)
    expect(await readFile(join(dataDir, 'postgres.maintenance'), 'utf8')).toBe(before)
    expect(await query(again.maintenanceUrl ?? '', 'select current_user')).toEqual([
      { current_user: 'tidings_maintenance' },
    ])
    await again.stop()
  })

  test('is changed completely or not at all, and the next start tries again', async () => {
    const dataDir = await earlierFolder([
      'create table kept (id int, word text)',
      // Makes the change fail after the roles and the tables were changed.
      `create function refuse() returns event_trigger language plpgsql as $$ begin raise 'no'; end $$`,
      'create event trigger refuse on ddl_command_start execute function refuse()',
    ])
    await expect(start(dataDir)).rejects.toThrow(/runs but does not respond on 127\.0\.0\.1:\d+: no\. Its log is/)
    const again = await start(dataDir, { settings: { event_triggers: 'off' } })
    await expectPlainRole(again.url)
    await again.stop()
  })
})
