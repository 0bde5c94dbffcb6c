/** Judges the statements of migrations: none may block a send for long on a table that every send writes or reads. */
import { expect, test } from 'vitest'
import { readMigrations } from './migrate.ts'
import { splitStatements } from './split-statements.ts'

/** Tables that sends, their events and their webhooks use all the time, and that can have millions of rows. */
const hot = [
  'messages',
  'message_events',
  'events',
  'webhook_deliveries',
  'audit_entries',
  'idempotency_keys',
  'suppressions',
]

/** Part of the previous release already, so an upgrade does not run them. Later migrations have no exception. */
const beforePreviousRelease = new Set(['0007_lean_writes', '0008_unsubscribed'])

type Rule = { fault: string; pattern: (table: string) => RegExp }

const rules: Rule[] = [
  // Other indexes of large tables are built apart, see split-migration.ts.
  {
    fault: 'builds a unique index',
    pattern: (table) => new RegExp(`^create unique index (?!concurrently)\\S+ on ${table}\\b`),
  },
  {
    fault: 'rewrites a column',
    pattern: (table) => new RegExp(`^alter table (only )?${table}\\b.*\\balter column \\S+ (set data )?type\\b`),
  },
  { fault: 'checks every row', pattern: (table) => new RegExp(`^alter table (only )?${table}\\b.*\\bset not null\\b`) },
  {
    fault: 'checks every row',
    pattern: (table) =>
      new RegExp(
        `^alter table (only )?${table}\\b.*\\badd (constraint|primary key|unique|check|foreign key)\\b(?!.*\\bnot valid\\b)`,
      ),
  },
  {
    fault: 'adds a column that no earlier row has',
    pattern: (table) =>
      new RegExp(`^alter table (only )?${table}\\b.*\\badd column\\b(?!.*\\bdefault\\b).*\\bnot null\\b`),
  },
  { fault: 'changes every row', pattern: (table) => new RegExp(`^(update|delete from) ${table}\\b`) },
]

const statementsOf = (sql: string): string[] =>
  splitStatements(sql).map((text) => text.replace(/\s+/g, ' ').toLowerCase())

/** A table that the migration creates itself has no rows. */
const faultsOf = (sql: string): string[] => {
  const statements = statementsOf(sql)
  const created = new Set(statements.flatMap((text) => /^create table (?:if not exists )?(\w+)/.exec(text)?.[1] ?? []))
  const judged = hot.filter((table) => !created.has(table))
  return statements.flatMap((text) =>
    judged.flatMap((table) =>
      rules.filter(({ pattern }) => pattern(table).test(text)).map(({ fault }) => `${table}: ${fault}`),
    ),
  )
}

test('no migration since the previous release blocks sends on a table with many rows', async () => {
  const migrations = await readMigrations()
  const blocking = migrations.filter(({ name, sql }) => !beforePreviousRelease.has(name) && faultsOf(sql).length > 0)
  expect(blocking.map(({ name, sql }) => [name, faultsOf(sql)])).toEqual([])
})

test('every exception is a migration that would be refused today', async () => {
  const refused = (await readMigrations()).filter(({ sql }) => faultsOf(sql).length > 0).map(({ name }) => name)
  expect(refused.sort()).toEqual([...beforePreviousRelease].sort())
})

test.each([
  ['create index a on messages (org_id)', []],
  ['create unique index a on events (id);', ['events: builds a unique index']],
  ['alter table messages alter column subject type text', ['messages: rewrites a column']],
  ['alter table messages alter subject_id set not null', ['messages: checks every row']],
  ["alter table messages add constraint c check (id <> '')", ['messages: checks every row']],
  ["alter table messages add constraint c check (id <> '') not valid", []],
  ['alter table messages add column n integer not null', ['messages: adds a column that no earlier row has']],
  ['alter table messages add column n integer not null default 0', []],
  ['alter table messages add column n integer', []],
  ['update messages set n = 1', ['messages: changes every row']],
  ['create table events (id text); create index a on events (id)', []],
])('%s is judged', (sql, faults) => {
  expect(faultsOf(sql)).toEqual(faults)
})
