/** Verifying the chain finds entries and links that were removed, inserted, moved or changed in the database. */
import { afterAll, beforeEach, expect, test } from 'vitest'
import { chainOf, linksOf, whole, writer } from '../../../test/audit/chain.ts'
import { tamper } from '../../../test/audit/tamper.ts'
import { startTestService } from '../../../test/service/service.ts'
import { linkDigest, signEnd } from './chain-ends.ts'
import { type EntryRow, entryColumns } from './store/entry-rows.ts'

const secret = 'audit-test-secret'

const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
afterAll(() => t.stop())
const { many, one } = writer(t)
const { chain } = t.service
let orgId: string
let ids: string[]

/** Five linked entries, `e0` to `e4`, with the sequence numbers 1 to 5. */
beforeEach(async () => {
  orgId = (await t.org()).org.id
  await many(orgId, 5)
  await chain.link()
  ids = (await linksOf(t, orgId)).map((link) => link.entry_id)
  expect(await chain.verify(orgId)).toEqual(whole(orgId, 5))
})

const attack = (...statements: string[]) =>
  tamper(
    t.database,
    ...statements.map((sql): [string] => [sql.replaceAll(/\$(\d)/g, (_, n) => `'${[orgId, ...ids][Number(n) - 1]}'`)]),
  )
const verify = () => chain.verify(orgId)
/** The entries that had these sequence numbers. */
const linked = (...seqs: number[]) => seqs.map((seq) => ids[seq - 1] as string)

// In the statements below, $1 is the org and $2 to $6 are its entries in order.

test('a removed entry is missing, at either end and in the middle', async () => {
  for (const place of [2, 4, 6]) {
    await attack(`delete from audit_entries where org_id = $1 and id = $${place}`)
  }
  expect(await verify()).toEqual(whole(orgId, 5, { missing: [ids[0], ids[2], ids[4]] as string[] }))
})

test('an entry that is removed with its link breaks the next link', async () => {
  await attack(
    'delete from audit_entries where org_id = $1 and id = $4',
    'delete from audit_links where org_id = $1 and entry_id = $4',
  )
  expect(await verify()).toEqual(whole(orgId, 4, { broken: linked(4) }))
})

test('a gap is reported even when the next entry is missing too', async () => {
  await attack(
    'delete from audit_entries where org_id = $1 and id in ($4, $5)',
    'delete from audit_links where org_id = $1 and entry_id = $4',
  )
  expect(await verify()).toEqual(whole(orgId, 4, { missing: [ids[3] as string], broken: linked(4) }))
})

test('a gap that is closed by renumbering breaks the links after it and the head', async () => {
  await attack(
    'delete from audit_entries where org_id = $1 and id = $4',
    'delete from audit_links where org_id = $1 and entry_id = $4',
    'update audit_links set seq = seq - 1 where org_id = $1 and seq = 4',
    'update audit_links set seq = seq - 1 where org_id = $1 and seq = 5',
  )
  expect(await verify()).toEqual(whole(orgId, 4, { broken: linked(4, 5), head: 'cut_off' }))
})

test('removing the newest entry and its link cuts off the head', async () => {
  await attack(
    'delete from audit_entries where org_id = $1 and id = $6',
    'delete from audit_links where org_id = $1 and entry_id = $6',
  )
  expect(await verify()).toEqual(whole(orgId, 4, { head: 'cut_off' }))
})

test('removing the newest entry and moving the head back requires the secret', async () => {
  const shorter = `update audit_chains set head_seq = 4,
    head_digest = (select digest from audit_links where org_id = $1 and seq = 4)`
  await attack(
    'delete from audit_entries where org_id = $1 and id = $6',
    'delete from audit_links where org_id = $1 and entry_id = $6',
  )
  await attack(`${shorter} where org_id = $1`)
  expect(await verify()).toEqual(whole(orgId, 4, { head: 'invalid' }))
  await attack(`${shorter}, head_signature = null where org_id = $1`)
  expect(await verify()).toEqual(whole(orgId, 4, { head: 'stripped' }))
  await attack(`${shorter}, head_signature = repeat('0', 64) where org_id = $1`)
  expect(await verify()).toEqual(whole(orgId, 4, { head: 'invalid' }))
  // Without a secret this cannot be detected, and the report does not claim that it can.
  const unsigned = chainOf(t, undefined)
  expect(await unsigned.verify(orgId)).toEqual(whole(orgId, 4, { head: 'unsigned', register: 'unsigned' }))
})

test('removing the oldest entry and marking it as pruned requires the secret', async () => {
  const pruned = `update audit_chains set pruned_seq = 1,
    pruned_digest = (select digest from audit_links where org_id = $1 and seq = 1)`
  await attack(
    `${pruned} where org_id = $1`,
    'delete from audit_entries where org_id = $1 and id = $2',
    'delete from audit_links where org_id = $1 and seq = 1',
  )
  expect(await verify()).toEqual(whole(orgId, 4, { pruned: 'stripped' }))
  await attack("update audit_chains set pruned_signature = repeat('0', 64) where org_id = $1")
  expect(await verify()).toEqual(whole(orgId, 4, { pruned: 'invalid' }))
  await attack('update audit_chains set pruned_digest = null, pruned_signature = null where org_id = $1')
  expect(await verify()).toEqual(whole(orgId, 4, { broken: linked(2) }))
  await attack('update audit_chains set pruned_seq = 0 where org_id = $1')
  expect(await verify()).toEqual(whole(orgId, 4, { broken: linked(2) }))
})

test('removing all entries and marking them as pruned requires the secret, since each end has its own signature', async () => {
  await attack(
    'delete from audit_entries where org_id = $1',
    'delete from audit_links where org_id = $1',
    `update audit_chains set pruned_seq = head_seq, pruned_digest = head_digest, pruned_signature = head_signature
     where org_id = $1`,
  )
  expect(await verify()).toEqual(whole(orgId, 0, { pruned: 'invalid' }))
})

test.each([
  ["action = 'org.deleted'"],
  ["resource_type = 'user'"],
  ["resource_id = 'other'"],
  ['resource_id = null'],
  [`metadata = metadata || '{"note":"other"}'`],
  ['metadata = null'],
  ["created_at = created_at + interval '1 ms'", 'misdated'],
  ["created_at = 'infinity'", 'misdated'],
  [`metadata = ('{"a":' || repeat('[', 300) || repeat(']', 300) || '}')::jsonb`],
] as [string, string?][])(
  'an entry changed by %s breaks its link and is named',
  async (change, verdict = 'invalid') => {
    await attack(`update audit_entries set ${change} where org_id = $1 and id = $4`)
    expect(await verify()).toEqual(whole(orgId, 5, { broken: linked(3), [verdict]: linked(3) }))
  },
)

test('an entry with a changed id or org is missing in one place and stray in the other', async () => {
  const other = (await t.org()).org.id
  await attack("update audit_entries set id = 'aud_other' where org_id = $1 and id = $3")
  expect(await verify()).toEqual(whole(orgId, 5, { missing: [ids[1]] as string[], stray: ['aud_other'] }))
  await attack(`update audit_entries set org_id = '${other}' where org_id = $1 and id = $4`)
  expect(await verify()).toMatchObject({ missing: [ids[1], ids[2]], stray: ['aud_other'] })
  expect(await chain.verify(other)).toEqual(whole(other, 0, { head: 'none', stray: [ids[2]] as string[] }))
})

test('two swapped entries break both links', async () => {
  await attack(
    "update audit_links set entry_id = 'swap' where org_id = $1 and seq = 2",
    'update audit_links set entry_id = $3 where org_id = $1 and seq = 4',
    'update audit_links set entry_id = $5 where org_id = $1 and seq = 2',
  )
  expect(await verify()).toEqual(whole(orgId, 5, { broken: linked(4, 2) }))
})

test('a changed digest breaks its link and the next', async () => {
  await attack("update audit_links set digest = sha256('x') where org_id = $1 and seq = 3")
  expect(await verify()).toEqual(whole(orgId, 5, { broken: linked(3, 4) }))
  await attack("update audit_links set digest = sha256('x') where org_id = $1 and seq = 5")
  expect(await verify()).toEqual(whole(orgId, 5, { broken: linked(3, 4, 5), head: 'cut_off' }))
})

test('an entry inserted without a link is stray', async () => {
  await attack(`insert into audit_entries (org_id, id, action, created_at)
    select $1, 'aud_inserted', action, created_at from audit_entries where org_id = $1 and id = $4`)
  expect(await verify()).toEqual(whole(orgId, 5, { stray: ['aud_inserted'] }))
})

test('an entry inserted with a link comes after the head, or breaks the links after it', async () => {
  await attack(
    `insert into audit_entries (org_id, id, action, created_at)
     values ($1, 'aud_inserted', 'org.updated', '2026-11-01')`,
    "insert into audit_links values ($1, 6, 'aud_inserted', sha256('x'))",
  )
  expect(await verify()).toEqual(whole(orgId, 5, { broken: ['aud_inserted'] }))
  await attack(
    'update audit_links set seq = seq + 10 where org_id = $1 and seq >= 4',
    "update audit_links set seq = 4 where org_id = $1 and entry_id = 'aud_inserted'",
    'update audit_links set seq = seq - 9 where org_id = $1 and seq > 10',
  )
  expect(await verify()).toMatchObject({
    checked: 5,
    broken: ['aud_inserted', ids[3], ids[4]],
    misdated: ['aud_inserted'],
    head: 'cut_off',
  })
})

test('rebuilding the whole chain with correct digests requires the secret', async () => {
  await attack('delete from audit_entries where org_id = $1 and id = $4', 'delete from audit_links where org_id = $1')
  const entries = await t.database.sql<EntryRow>(
    `select ${entryColumns.of('e')} from audit_entries e where org_id = $1 order by id`,
    [orgId],
  )
  let head = { seq: 0, digest: Buffer.alloc(0) as Buffer }
  for (const entry of entries) {
    const seq = head.seq + 1
    head = { seq, digest: linkDigest(head.digest, seq, entry) }
    await t.database.sql('insert into audit_links values ($1, $2, $3, $4)', [orgId, seq, entry.id, head.digest])
  }
  await t.database.sql(
    'update audit_chains set head_seq = $2, head_digest = $3, head_signature = $4 where org_id = $1',
    [orgId, head.seq, head.digest, signEnd('a guess', { end: 'registered', orgId, ...head })],
  )
  expect(await verify()).toEqual(whole(orgId, 4, { head: 'invalid' }))
})

test('a chain without its row is deleted, even after its links and entries are gone too', async () => {
  await attack('delete from audit_chains where org_id = $1')
  expect(await verify()).toEqual(whole(orgId, 0, { head: 'deleted', broken: ids }))
  await attack('delete from audit_links where org_id = $1')
  expect(await verify()).toEqual(whole(orgId, 0, { head: 'deleted', stray: [...ids].sort() }))
  await attack('delete from audit_entries where org_id = $1')
  expect(await verify()).toEqual(whole(orgId, 0, { head: 'deleted' }))
})

test('an entry that is removed before it is linked is missing, and later entries are still linked', async () => {
  await one(orgId, 'lost')
  await one(orgId, 'after')
  const [lost] = await t.database.sql<{ id: string }>(
    "select id from audit_entries where org_id = $1 and resource_id = 'lost'",
    [orgId],
  )
  await tamper(t.database, ['delete from audit_entries where id = $1', [lost?.id]])
  expect(await chain.link()).toBe(1)
  expect(await verify()).toEqual(whole(orgId, 6, { missing: [lost?.id as string], waiting: 1 }))
})

test('a report lists at most 100 findings of each kind', async () => {
  await many(orgId, 1_100, 5)
  await chain.link()
  await attack(
    "update audit_entries set action = 'x' where org_id = $1",
    "delete from audit_entries where org_id = $1 and resource_id >= 'e5'",
  )
  const report = await verify()
  expect([report.checked, report.broken.length, report.missing.length]).toEqual([1_105, 100, 100])
})
