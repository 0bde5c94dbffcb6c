/** Reading received messages. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { freshNumber, type PhoneClient, phoneClient } from '../../../test/clients/phone-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'
import { listInbound } from './store/inbound-rows.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off', MESSAGE_CONTENT_TTL_DAYS: '30' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

type ListFilters = { orgId: string; tenantId: string; from: string; to: string }
const encoded = encodeURIComponent
type Shown = { id: string; created_at: string }
const idsOf = ({ body }: { body: { data: Shown[] } }): string[] => body.data.map(({ id }) => id)

const insertEmail = async ({ orgId }: PhoneClient, o: { from?: string; to?: string[]; tenantId?: string } = {}) => {
  const id = newId('inboundEmail', t.service.clock.millis())
  await t.database.sql(
    `insert into inbound_messages (org_id, id, channel, tenant_id, from_address, to_addresses, subject, text, html,
       attachments, kind, received_at, created_at)
     values ($1, $2, 'email', $3, $4, $5, 'Hi', 'Hello', '<p>Hello', '[]', 'reply', $6, $6)`,
    [
      orgId,
      id,
      o.tenantId ?? null,
      o.from ?? 'ann@reader.test',
      o.to ?? ['help@inbox.test', 'b@inbox.test'],
      t.service.clock.now(),
    ],
  )
  return id
}

describe('the list', () => {
  let own: PhoneClient
  const [ann, bob, second] = [freshNumber(), freshNumber(), freshNumber()]
  let ids: string[]

  beforeAll(async () => {
    own = await phoneClient(t)
    await own.number(second)
    ids = []
    for (const [from, body, more] of [
      [ann, 'Hello', {}],
      [ann, 'STOP', {}],
      [bob, 'HELP', {}],
      [bob, 'Hi', { to: second }],
    ] as const) {
      ids.push(await own.received(from, body, more))
      await own.advance(60)
    }
    ids.push(await insertEmail(own))
  })

  test('S-255 SD-69 has both channels, newest first, with opt-outs and requests for help', async () => {
    const reply = await own.inbound()
    expect(reply.status).toBe(200)
    expect(idsOf(reply)).toEqual(ids.toReversed())
    expect(reply.body.data.map(({ kind }: { kind: string }) => kind)).toEqual([
      'reply',
      'reply',
      'help',
      'opt_out',
      'reply',
    ])
    expect([reply.body.has_more, reply.body.next_cursor]).toEqual([false, null])
    for (const shown of reply.body.data) expect((await own.inboundOne(shown.id)).body).toEqual(shown)
    expect(idsOf(await own.inbound('', own.test))).toEqual(ids.toReversed())
  })

  test.each([
    ['channel=sms', [3, 2, 1, 0]],
    ['channel=email', [4]],
    [`from=${encoded(ann)}`, [1, 0]],
    [`from=${ann}`, [1, 0]],
    ['from=ANN@Reader.test', [4]],
    ['from=nobody', []],
    [`to=${encoded(second)}`, [3]],
    [`to=${encoded(second)}&channel=sms`, [3]],
    [`to=${encoded(second)}&channel=email`, []],
    ['to=b@inbox.test', [4]],
    ['to=inbox.test', []],
    ['kind=opt_out', [1]],
    ['kind=help', [2]],
    ['kind=reply', [4, 3, 0]],
    [`from=${encoded(bob)}&to=${encoded(second)}&kind=reply`, [3]],
    [`from=${encoded(ann)}&channel=email`, []],
  ])('SD-69 filters by %s', async (query, expected) => {
    expect(idsOf(await own.inbound(`?${query}`))).toEqual(expected.map((i) => ids[i]))
  })

  test('SD-69 filters by the time of storing, with both ends included', async () => {
    const shown = (await own.inbound()).body.data.toReversed() as Shown[]
    const [from, to] = [shown[1]?.created_at, shown[3]?.created_at]
    expect(idsOf(await own.inbound(`?created_after=${from}&created_before=${to}`))).toEqual([ids[3], ids[2], ids[1]])
    expect(idsOf(await own.inbound(`?created_before=${from}`))).toEqual([ids[1], ids[0]])
    expect(idsOf(await own.inbound(`?created_after=${to}&from=${encoded(bob)}`))).toEqual([ids[3]])
  })

  test.each(['', 'channel=sms', `from=${encoded(ann)}`, 'kind=reply'])(
    'S-255 has pages that follow each other, with filter "%s"',
    async (filter) => {
      const whole = idsOf(await own.inbound(`?${filter}`))
      const paged: string[] = []
      let cursor = ''
      do {
        const { body } = await own.inbound(`?${filter}&limit=1&cursor=${cursor}`)
        expect(body.data).toHaveLength(1)
        paged.push(...idsOf({ body }))
        cursor = body.next_cursor ?? ''
        expect(body.has_more).toBe(cursor !== '')
      } while (cursor !== '')
      expect(paged).toEqual(whole)
    },
  )

  test('SD-69 continues after the cursor within a time range', async () => {
    const shown = (await own.inbound()).body.data as Shown[]
    const range = `created_before=${shown[1]?.created_at}&limit=1`
    const first = (await own.inbound(`?${range}`)).body
    const next = (await own.inbound(`?${range}&cursor=${first.next_cursor}`)).body
    expect([...idsOf({ body: first }), ...idsOf({ body: next })]).toEqual([ids[3], ids[2]])
  })

  test.each(['channel=fax', 'kind=stop', 'created_after=yesterday', 'limit=0', 'limit=101', `from=${'x'.repeat(321)}`])(
    'refuses %s',
    async (query) => {
      const reply = await own.inbound(`?${query}`)
      expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
    },
  )

  test('SD-11 needs the scope read:inbound', async () => {
    const key = await t.key(own.orgId, { scopes: ['read:messages'] })
    const [id = ''] = ids
    for (const reply of [await own.inbound('', key), await own.inboundOne(id, key)]) {
      expect([reply.status, reply.body.error.code]).toEqual([403, 'INSUFFICIENT_SCOPE'])
    }
    const reader = await t.key(own.orgId, { scopes: ['read:inbound'] })
    expect((await own.inbound('', reader)).status).toBe(200)
  })
})

test('A-262 S-255 A message of a tenant is visible to the tenant and the org, and not to other tenants and orgs', async () => {
  const [own, stranger] = [await phoneClient(t), await phoneClient(t)]
  const [a, b] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
  const [keyA, keyB] = [await t.key(own.orgId, { tenantId: a }), await t.key(own.orgId, { tenantId: b })]
  const ofOrg = await insertEmail(own)
  const ofA = await insertEmail(own, { tenantId: a })
  await leavesNoTrace(async () => {
    expect([idsOf(await own.inbound('')), idsOf(await own.inbound('', keyA))]).toEqual([[ofA, ofOrg], [ofA]])
    for (const query of ['', '?from=ann@reader.test', '?to=help@inbox.test', '?channel=email']) {
      expect(idsOf(await own.inbound(query, keyB)), query).toEqual([])
      expect(idsOf(await stranger.inbound(query)), query).toEqual([])
    }
    expect((await own.inboundOne(ofA, keyA)).status).toBe(200)
    for (const [id, key] of [
      [ofOrg, keyA],
      [ofA, keyB],
      [ofA, stranger.live],
      [newId('inboundSms'), own.live],
      [newId('message'), own.live],
    ] as const) {
      expectRefusal(await own.inboundOne(id, key), 'NOT_FOUND')
    }
  })
})

test('R-08 XD-35 The content of old messages is redacted, and the rest of the row stays', async () => {
  const own = await phoneClient(t)
  const sms = await own.received(freshNumber(), 'STOP', { media_url: ['https://example.com/a.jpg'] })
  const email = await insertEmail(own)
  const before = [(await own.inboundOne(sms)).body, (await own.inboundOne(email)).body]
  const run = async () => (await t.ask('POST', '/api/dev/run', { body: { task: 'redaction' } })).body.counts
  await own.advance(29 * 86_400)
  const recent = await own.received(freshNumber(), 'Hello')
  expect((await run()).inbound_redacted).toBe(0)
  await own.advance(86_401)
  expect((await run()).inbound_redacted).toBeGreaterThanOrEqual(2)
  expect([(await own.inboundOne(sms)).body, (await own.inboundOne(email)).body]).toEqual([
    { ...before[0], body: null, media_url: [] },
    { ...before[1], text: null, html: null },
  ])
  expect((await own.inboundOne(recent)).body.body).toBe('Hello')
  expect((await run()).inbound_redacted).toBe(0)
})

/** The rows that the statement reads with a plan that does not depend on its parameters. */
const rowsRead = async (
  statement: { text: string; params: readonly string[] },
  filters: Partial<ListFilters>,
): Promise<number> => {
  const client = new pg.Client(t.database.url)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`set plan_cache_mode = force_generic_plan; prepare page as ${statement.text}`)
  const given: Record<string, unknown> = { limit: 21, ...filters }
  const values = statement.params.map((name) => client.escapeLiteral(String(given[name] ?? '')))
  const list = values.map((value, i) => (given[statement.params[i] as string] === undefined ? 'null' : value))
  const { rows } = await client.query(`explain (analyze, format json) execute page (${list.join(', ')})`)
  type Node = { 'Actual Rows': number; 'Rows Removed by Filter'?: number; Plans?: Node[] }
  const countOf = (node: Node): number =>
    node.Plans ? Math.max(...node.Plans.map(countOf)) : node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
  return countOf(rows[0]['QUERY PLAN'][0].Plan)
}

test('S-255 A page of a large org reads few rows, with every filter that has an index', async () => {
  const own = await phoneClient(t)
  const tenant = await t.tenant(own.orgId)
  const rare = freshNumber()
  await t.database.sql(
    `insert into inbound_messages (org_id, id, channel, tenant_id, from_address, to_addresses, text, kind, received_at,
       created_at)
     select $1, 'ism_' || lpad(n::text, 26, '0'), 'sms', case when n % 5000 = 0 then $2 end,
       case when n % 5000 = 1 then $3 else '+1202555' || n % 900 end, array[case when n % 5000 = 2 then $3 else $4 end],
       'Hi', 'reply', $5::timestamptz - n * interval '1 second', $5::timestamptz - n * interval '1 second'
     from generate_series(1, 20000) n`,
    [own.orgId, tenant, rare, own.line, t.service.clock.now()],
  )
  await t.database.sql('analyze inbound_messages')
  const { orgId } = own
  expect(await rowsRead(listInbound.all, { orgId })).toBe(21)
  expect(await rowsRead(listInbound.ofTenant, { orgId, tenantId: tenant })).toBe(4)
  expect(await rowsRead(listInbound.fromSender, { orgId, from: rare })).toBe(4)
  expect(await rowsRead(listInbound.toNumber, { orgId, to: rare })).toBe(4)
})
