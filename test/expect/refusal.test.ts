import { afterAll, expect, test } from 'vitest'
import { changedTables, makeDigest } from '../hostile/responses.ts'
import { makeTestDatabase } from '../service/database.ts'
import { watchTables } from './refusal.ts'

const database = await makeTestDatabase()
afterAll(() => database.drop())
const leavesNoTrace = await watchTables(database)

const setting = (name: string) => `insert into settings values ('${name}', '1', '2026-01-01')`

test('every kind of change fails the check, and the first one too', async () => {
  const changes = [
    setting('first'),
    `update settings set value = '2' where name = 'first'`,
    `with removed as (delete from settings where name = 'first') select 1`,
    `insert into audit_unlinked (org_id, created_at, entry_id) values ('org_a', '2026-01-01', 'aud_a')`,
    'truncate audit_unlinked',
  ]
  for (const change of changes) {
    await expect(
      leavesNoTrace(() => database.sql(change)),
      change,
    ).rejects.toThrow('changed tables')
  }
})

test('a row that is written to a partition counts as a change of its table', async () => {
  const [partition] = await database.sql<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'messages'::regclass limit 1`,
  )
  const digest = await makeDigest(database)
  const before = await digest()
  const columns = 'org_id, id, created_at, environment, project_id, channel, status, from_address, to_addresses'
  await database.sql(
    `insert into ${partition?.name} (${columns})
     values ('org_a', 'msg_a', '2026-11-01', 'live', 'prj_a', 'email', 'sent', 'a@example.test', '{}')`,
  )
  expect(changedTables(before, await digest())).toEqual(['messages'])
})

test('what is rolled back, left the same or written in the background passes the check', async () => {
  await database.sql(setting('kept'))
  const passing = [
    `do $$ begin ${setting('gone')}; raise exception 'undone'; exception when others then null; end $$`,
    `update settings set value = value`,
    setting('readiness_probe'),
  ]
  for (const statement of passing) await leavesNoTrace(() => database.sql(statement))
})

test('every table and partition that the digest reads counts its changes', async () => {
  const uncounted = await database.sql<{ name: string }>(
    `select relname as name from pg_class c
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and not exists (select from pg_trigger where tgrelid = c.oid and tgname = 'count_watched_change')
     order by 1`,
  )
  expect(uncounted.map(({ name }) => name)).toEqual(['service_processes', 'usage_leases'])
})
