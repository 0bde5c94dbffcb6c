/** The plans of linking, so that its cost does not grow with the entries of the org. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { queryOf } from '../../platform/db/statement.ts'
import { beginChain, entriesToLink, insertLinks } from './store/chain-rows.ts'
import { stateOfEntries } from './store/watch-rows.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await makeTestDatabase()
  client = new pg.Client(database.url)
  await client.connect()
  await client.query('set plan_cache_mode = force_generic_plan')
  // A table that is known to be empty is read as a whole, if anything allows it.
  await client.query('vacuum analyze audit_entries, audit_links, audit_unlinked')
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

test.each([
  [
    'finding the entries',
    entriesToLink,
    ['audit_unlinked_pkey', 'audit_entries_pkey', 'audit_links_org_id_entry_id_key'],
  ],
  ['linking them', insertLinks, ['audit_unlinked_pkey']],
] as const)('%s reads only waiting entries, through an index', async (_, statement, indexes) => {
  await client.query('begin')
  await client.query(queryOf(beginChain, { orgId: 'org_1', at: new Date() }))
  await client.query(`prepare planned as ${statement.text}`)
  const nulls = statement.params.map(() => 'null').join(', ')
  const { rows } = await client.query(`explain (costs off) execute planned(${nulls})`)
  await client.query('deallocate planned')
  await client.query('rollback')
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  for (const index of indexes) expect(plan).toContain(`using ${index}`)
  expect(plan).not.toMatch(/Merge|Hash|Seq Scan/)
})

test('the state of entries is found by their keys, in the given order', async () => {
  await client.query(
    `insert into audit_entries (org_id, id, action, created_at)
     select 'org_1', 'aud_' || n, 'x', now() from generate_series(1, 3) as n`,
  )
  await client.query("insert into audit_links (org_id, seq, entry_id, digest) values ('org_1', 1, 'aud_2', '')")
  const ids = ['aud_4', 'aud_2', 'aud_1', 'aud_2']
  const orgIds = ['org_1', 'org_1', 'org_1', 'org_2']
  const { rows } = await client.query(queryOf(stateOfEntries, { orgIds, ids }))
  expect(rows).toEqual([
    { present: false, linked: false },
    { present: true, linked: true },
    { present: true, linked: false },
    { present: false, linked: false },
  ])
})
