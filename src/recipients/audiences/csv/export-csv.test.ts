import { request } from 'undici'
import { afterAll, expect, test } from 'vitest'
import { audienceClient } from '../../../../test/clients/audience-client.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const acme = await t.org()
const client = audienceClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

test('R-30 exports every member with one column for each metadata key, and changes nothing', async () => {
  const id = await client.made({ name: 'Export', slug: 'export' })
  await client.add(id, { email: 'ada@x.example', name: 'Lovelace, Ada', metadata: { plan: 'pro', city: '=cmd()' } })
  await client.add(id, { phone: '+14155550100', metadata: { email: 'other@x.example' } })
  const reply = await leavesNoTrace(() => client.exportCsv(id))
  expect([reply.status, reply.headers['content-type'], reply.headers['content-disposition']]).toEqual([
    200,
    'text/csv; charset=utf-8',
    'attachment; filename="export.csv"',
  ])
  expect(reply.text.split('\r\n')).toEqual([
    "email,phone,name,city,'email,plan",
    `ada@x.example,,"Lovelace, Ada",'=cmd(),,pro`,
    ',+14155550100,,,other@x.example,',
    '',
  ])
})

test('R-30 importing an export again changes nothing but the audit log', async () => {
  const id = await client.made()
  const metadata = { plan: '=1+1', name: "'quoted", Phone: 'x', note: ' spaces ', lines: 'a\r\nb;c' }
  await client.add(id, { email: 'Round@X.example', name: '-Ada', phone: '=weird', metadata })
  await client.add(id, { phone: '@handle' })
  await client.add(id, { phone: "'+49 30", metadata: { plan: '' } })
  await client.add(id, { email: 'same@x.example', phone: '@handle' })
  const rows = () =>
    t.database.sql(
      `select c.id, c.name, c.email, c.phone, c.metadata, c.updated_at, m.created_at, a.member_count, a.updated_at as audience_at
       from audiences a join audience_members m on m.audience_id = a.id join contacts c on c.id = m.contact_id
       where a.id = $1 order by c.id`,
      [id],
    )
  const before = await rows()
  const { text } = await client.exportCsv(id)
  const reply = await client.importCsv(id, text)
  expect(reply.body).toEqual({ rows: 4, created: 0, linked: 0, already_members: 4, skipped: 0, errors: [] })
  expect(await rows()).toEqual(before)
  expect((await client.exportCsv(id)).text).toBe(text)
})

test('R-30 an export has every member once, over many pages', async () => {
  const id = await client.made()
  const people = Array.from({ length: 2_500 }, (_, i) => `many${String(i).padStart(4, '0')}@x.example`)
  await client.importCsv(id, `email\n${people.join('\n')}`)
  const big = Array.from({ length: 30 }, (_, i) => `big${i}@x.example,${'v'.repeat(4_000)}`)
  await client.importCsv(id, `email,note\n${big.join('\n')}`)
  const { text } = await client.exportCsv(id)
  const exported = text
    .split('\r\n')
    .slice(1, -1)
    .map((line) => line.split(',', 1)[0] as string)
  expect(exported.sort()).toEqual([...people, ...big.map((line) => line.split(',', 1)[0] as string)].sort())
})

test('R-30 refuses an audience with more metadata keys than a file can have columns', async () => {
  const id = await client.made()
  for (let n = 0; n < 20; n++) {
    const metadata = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${n}-${i}`, 'v']))
    await client.add(id, { email: `keys${n}@x.example`, metadata })
  }
  expectRefusal(await client.exportCsv(id), 'PAYLOAD_TOO_LARGE', {
    message: 'The members have more than 1997 different metadata keys, which is more than a CSV file can have columns.',
  })
})

test('R-30 a client that leaves during an export does not disturb the service', async () => {
  const id = await client.made()
  const big = Array.from({ length: 1_500 }, (_, i) => `left${i}@x.example,${'v'.repeat(4_000)}`)
  await client.importCsv(id, `email,note\n${big.join('\n')}`)
  const { body } = await request(`${t.url}/api/v1/audiences/${id}/export-csv`, {
    headers: { authorization: `Bearer ${acme.keys.live}` },
  })
  body.on('error', () => undefined)
  await new Promise((resolve) => body.once('data', resolve))
  body.destroy()
  expect((await client.get(id)).status).toBe(200)
  const head = await t.ask('HEAD', `/api/v1/audiences/${id}/export-csv`, { key: acme.keys.live })
  expect([head.status, head.text]).toEqual([200, ''])
})
