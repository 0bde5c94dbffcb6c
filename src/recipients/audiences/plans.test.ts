/** The plans of lists and look-ups, so that their cost does not grow with the contacts of the org. */
import { afterAll, expect, test } from 'vitest'
import { startTestService } from '../../../test/service/service.ts'
import type { Statement } from '../../platform/db/statement.ts'
import { listAudiences, listTenantAudiences } from './store/audience-rows.ts'
import { listContacts, matchContactByEmail, matchContactByPhone } from './store/contact-rows.ts'
import { searchContacts } from './store/contact-search.ts'
import { matchImportedEmails, matchImportedPhones } from './store/import-rows.ts'
import { exportKeys, exportMembers, listMembers } from './store/member-rows.ts'

const t = await startTestService()
afterAll(() => t.stop())

/** The generic plan of a statement, which is the one that a prepared statement gets. */
const planOf = async ({ text, params }: Pick<Statement<object, unknown>, 'text' | 'params'>): Promise<string> => {
  const client = await t.service.db.connect()
  try {
    await client.query('set plan_cache_mode = force_generic_plan')
    // The tables are empty, and a small table is read as a whole.
    await client.query('set enable_seqscan = off')
    await client.query('set enable_bitmapscan = off')
    await client.query(`prepare planned as ${text}`)
    const { rows } = await client.query(`explain (costs off) execute planned(${params.map(() => 'null').join(', ')})`)
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  } finally {
    await client.end()
  }
}

const page = /Index Cond: .*ROW\(created_at, id\) < ROW/

test.each([
  ['all contacts', listContacts.all, 'contacts_page', page],
  ['contacts of a tenant', listContacts.byTenant, 'contacts_tenant_page', page],
  ['contacts by email', listContacts.byEmail, 'contacts_email', /Index Cond: .*lower\(email\) = /],
  ['contacts by phone', listContacts.byPhone, 'contacts_phone_any', /Index Cond: .*phone = /],
  ['a search in all contacts', searchContacts.all, 'contacts_page', page],
  ['a search in a tenant', searchContacts.byTenant, 'contacts_tenant_page', page],
  [
    'a search in an audience',
    searchContacts.byAudience,
    'audience_members_pkey',
    /Index Cond: .*audience_id = .*contact_id < /,
  ],
  ['audiences', listAudiences, 'audiences_page', page],
  ['audiences of a tenant', listTenantAudiences, 'audiences_tenant_page', page],
  ['members', listMembers, 'audience_members_pkey', /Index Cond: .*audience_id = .*contact_id < /],
  ['a page of an export', exportMembers, 'audience_members_pkey', /Index Cond: .*audience_id = .*contact_id > /],
  ['the keys of an export', exportKeys, 'audience_members_pkey', /Index Cond: .*audience_id = .*contact_id > /],
  ['a contact by email', matchContactByEmail, 'contacts_email', /Index Cond: .*lower\(email\) = /],
  ['a contact by phone', matchContactByPhone, 'Index Scan', /Index Cond: .*phone = /],
  ['imported emails', matchImportedEmails, 'contacts_email', /Index Cond: .*lower\(email\) = lower\(r\.email\)/],
  ['imported phones', matchImportedPhones, 'Index Scan', /Index Cond: .*phone = r\.phone/],
] as const)(
  'SD-90 the statement for %s reads only what it needs, through an index',
  async (_, statement, index, condition) => {
    const plan = await planOf(statement)
    expect(plan).toContain(index)
    expect(plan).toMatch(condition)
    expect(plan).not.toMatch(/Merge Join|Hash Join|Seq Scan/)
  },
)
