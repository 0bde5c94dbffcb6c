/** The plan of the statement that reads the members of a send, right after a large import. */
import { afterAll, expect, test } from 'vitest'
import { blastClient } from '../../../test/clients/blast-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import { listSendMembers } from './store/recipient-rows.ts'

const t = await startTestService()
afterAll(() => t.stop())

test('S-365 each member is looked up by its id while the statistics do not know the audience yet', async () => {
  for (let org = 0; org < 40; org++) {
    await (await blastClient(t)).audience([{ email: 'ana@reader.test' }, { email: 'ben@reader.test' }])
  }
  await t.database.sql('analyze contacts, audience_members')
  await (await blastClient(t)).audience(Array.from({ length: 100 }, (_, i) => ({ email: `reader${i}@reader.test` })))

  const client = await t.service.db.connect()
  try {
    await client.query('set plan_cache_mode = force_generic_plan')
    // A small table is read as a whole otherwise.
    await client.query('set enable_seqscan = off')
    await client.query('set enable_bitmapscan = off')
    await client.query(`prepare members as ${listSendMembers.text}`)
    const values = listSendMembers.params.map(() => 'null').join(', ')
    const { rows } = await client.query(`explain (costs off) execute members(${values})`)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('Index Cond: ((org_id = m.org_id) AND (id = m.contact_id))')
  } finally {
    await client.end()
  }
})
