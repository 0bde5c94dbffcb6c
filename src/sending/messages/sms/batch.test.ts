/** Sending many text messages in one call: both shapes, the result of each item, the shared quota, concurrency. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TrailEntry, withTrail } from '../../../../test/audit/trail.ts'
import type { Body } from '../../../../test/clients/mailer.ts'
import { simulated, type Texter, text, texter } from '../../../../test/clients/texter.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService, testService } from '../../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await texter(t)
const leavesNoTrace = await watchTables(t.database)

type Item = { index: number; id: string | null; status: string; error: { code: string; message: string } | null }
const items = (reply: { body: { data: Item[] } }): Item[] => reply.body.data
const codes = (reply: { body: { data: Item[] } }) => items(reply).map(({ error }) => error?.code ?? 'sent')
const refusedItem = (index: number, code: string, id: string | null = null) => ({
  index,
  id,
  status: 'failed',
  error: { code, message: expect.any(String) },
})
const numbers = (n: number) => Array.from({ length: n }, (_, i) => `+1512555${String(3000 + i)}`)

const invalidCall = async (body: unknown, path: (string | number)[]) => {
  const reply = await leavesNoTrace(() => acme.batch(body))
  const errors = [{ path, code: expect.any(String), message: expect.any(String) }]
  expectRefusal(reply, 'VALIDATION_ERROR', { errors }, JSON.stringify(body).slice(0, 100))
}

describe('the call', () => {
  test('S-188 requires the scope send:sms', async () => {
    const key = await t.key(acme.orgId, { scopes: ['read:messages', 'send:email'] })
    expectRefusal(await leavesNoTrace(() => acme.batch([text()], { key })), 'INSUFFICIENT_SCOPE')
    const sender = await t.key(acme.orgId, { scopes: ['send:sms'] })
    expect((await acme.batch([text()], { key: sender })).status).toBe(200)
  })

  test('S-188 S-189 S-190 accepts 1 to 100 items or recipients', async () => {
    await invalidCall([], [])
    await invalidCall(new Array(101).fill(text()), [])
    await invalidCall(text({ to: [] }), ['to'])
    await invalidCall(text({ to: numbers(101) }), ['to'])
    for (const body of ['text', 7, null]) {
      const reply = await leavesNoTrace(() => acme.batch(body))
      expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
    }
    const full = await acme.batch(new Array(100).fill(text()))
    expect(full.body).toMatchObject({ total: 100, succeeded: 100, failed: 0 })
    const bulk = await acme.batch(text({ to: numbers(100) }))
    expect(bulk.body).toMatchObject({ total: 100, succeeded: 100, failed: 0 })
    expect(new Set(items(bulk).map(({ id }) => id)).size).toBe(100)
  })

  test('S-184 one of more than 10 MB is refused', async () => {
    const reply = await leavesNoTrace(() => acme.batch([text({ body: 'x'.repeat(10 * 1_048_576) })]))
    expect([reply.status, reply.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  })
})

describe('with valid and invalid items', () => {
  let own: Texter
  let reply: Reply
  let trail: TrailEntry[]

  beforeAll(async () => {
    own = await texter(t)
    await own.suppress('+15125550111')
    await own.number('+15125550177', { status: 'pending' })
    await own.number('+15125550199')
    const rejected = await own.dltTemplate({ status: 'rejected' })
    const unprovisioned = await own.dltTemplate({ providerTemplateId: null })
    const india = { to: '+919876543210' }
    const media = { from: '+15125550199', media_url: ['s3://abc/key'] }
    const body = [
      text({ body: 'x'.repeat(161) }),
      text({ to: '5125550100' }),
      text({ to: '+15125550111' }),
      text({ from: 'NOBODY' }),
      text({ from: '+15125550177' }),
      text({ to: '+8816123456' }),
      text(india),
      text({ ...india, dlt_template_id: 'dlt_x' }),
      text({ ...india, dlt_template_id: rejected }),
      text({ ...india, dlt_template_id: unprovisioned }),
      text({ ...media, media_url: ['https://example.com/a'] }),
      text({ ...media, media_url: new Array(11).fill('s3://abc/key') }),
      text({ media_url: ['s3://abc/key'] }),
      text(media),
      text({ template: 'hi' }),
      text({ scheduled_at: '2100-01-01T00:00:00Z' }),
      text({ scheduled_local: '2100-01-01T00:00' }),
      text({ from: undefined, from_pool: 'main' }),
      'not an object',
      text({ to: simulated.refused }),
      text({ tags: ['last'] }),
    ]
    const audited = await withTrail(t.database, own.orgId, () => own.batch(body))
    reply = audited.result
    trail = audited.trail
  })

  const sentItem = (index: number) => ({ index, id: expect.stringMatching(/^msg_/), status: 'sent', error: null })

  test('S-191 S-197 S-200 SD-57 returns the result of each item, in request order', () => {
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        data: [
          sentItem(0),
          refusedItem(1, 'VALIDATION_ERROR'),
          refusedItem(2, 'SUPPRESSED'),
          refusedItem(3, 'SENDER_NOT_VERIFIED'),
          refusedItem(4, 'SENDER_NOT_VERIFIED'),
          refusedItem(5, 'HIGH_COST_DESTINATION'),
          refusedItem(6, 'DLT_TEMPLATE_REQUIRED'),
          refusedItem(7, 'DLT_TEMPLATE_NOT_APPROVED'),
          refusedItem(8, 'DLT_TEMPLATE_NOT_APPROVED'),
          refusedItem(9, 'DLT_TEMPLATE_NOT_APPROVED'),
          refusedItem(10, 'MMS_INVALID_MEDIA_URI'),
          refusedItem(11, 'MMS_TOO_MANY_ATTACHMENTS'),
          refusedItem(12, 'VALIDATION_ERROR'),
          sentItem(13),
          refusedItem(14, 'VALIDATION_ERROR'),
          refusedItem(15, 'VALIDATION_ERROR'),
          refusedItem(16, 'VALIDATION_ERROR'),
          refusedItem(17, 'VALIDATION_ERROR'),
          refusedItem(18, 'VALIDATION_ERROR'),
          refusedItem(19, 'PROVIDER_ERROR', expect.stringMatching(/^msg_/) as unknown as string),
          sentItem(20),
        ],
        total: 21,
        succeeded: 3,
        failed: 18,
      },
    ])
  })

  test('S-193 S-195 S-199 S-201 the error of an item names the field or the rule', () => {
    const messages = items(reply).map(({ error }) => error?.message)
    expect(messages[1]).toBe('to: Must be a number in E.164 form, such as +15125550100.')
    expect(messages[3]).toBe(messages[4])
    expect(messages[12]).toBe('media_url: MMS needs a number as its sender.')
    expect(messages.slice(14, 17)).toEqual([
      'template: Not supported in a batch.',
      'scheduled_at: Not supported in a batch.',
      'scheduled_local: Not supported in a batch.',
    ])
    expect(messages[19]).toBe('Refused by the simulator')
  })

  test('S-200 S-237 SD-37 stores, counts and fires for the sent items and the one that the provider refused', async () => {
    expect(await own.traces()).toMatchObject({
      messages: ['sent', 'sent', 'failed', 'sent'],
      outbox: 3,
      used: { 'org live sms': 3, 'key live sms': 3, 'org live segments': 4 },
    })
    expect((await own.events()).map(({ event }) => event).sort()).toEqual([
      'message.failed',
      'message.sent',
      'message.sent',
      'message.sent',
    ])
    const failed = items(reply)[19] as Item
    expect((await own.events()).find(({ event }) => event === 'message.failed')?.data).toEqual({
      message_id: failed.id,
      channel: 'sms',
      status: 'failed',
      error: 'Refused by the simulator',
    })
    expect((await own.list('?status=failed')).body.data.map(({ id }: Item) => id)).toEqual([failed.id])
    expect(await own.handed(items(reply)[13]?.id as string)).toMatchObject({ media_url: ['s3://abc/key'] })
  })

  test('AD-96 writes one audit entry with the number of sent items', () => {
    expect(trail.map(({ action, resource_id, metadata }) => [action, resource_id, metadata])).toEqual([
      ['message.sent', null, expect.objectContaining({ channel: 'sms', count: 3, environment: 'live' })],
    ])
  })
})

describe('the bulk shape', () => {
  test('S-190 SD-57 sends one message to each recipient, with its tags, metadata and media', async () => {
    const own = await texter(t)
    await own.number('+15125550199')
    const common = {
      from: '+15125550199',
      body: 'Hi',
      tags: ['bulk'],
      metadata: { a: 'b' },
      media_url: ['s3://abc/key'],
    }
    const to = numbers(3)
    const reply = await own.batch({ ...common, to })
    expect(reply.body).toMatchObject({ total: 3, succeeded: 3, failed: 0 })
    for (const [i, { id }] of items(reply).entries()) {
      const kept = await own.handed(id as string)
      expect(kept).toMatchObject({ to: [to[i]], body: 'Hi', media_url: ['s3://abc/key'] })
      expect((await own.get(id as string)).body).toMatchObject({ tags: ['bulk'], metadata: { a: 'b' }, to: to[i] })
    }
  })

  test('S-127 SD-57 variables that are too deep or too large fail the item, or the whole bulk call', async () => {
    const own = await texter(t)
    const [to] = numbers(1)
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
    const list = Array.from({ length: 11_000 }, () => 1)
    const given = [{ a: nested(11) }, { a: 'x'.repeat(65_536) }, { a: nested(10) }, { list }]
    const reply = await own.batch(given.map((variables) => text({ to, variables })))
    expect(items(reply).map(({ status, error }) => [status, error?.code])).toEqual([
      ['failed', 'VALIDATION_ERROR'],
      ['failed', 'VALIDATION_ERROR'],
      ['sent', undefined],
      ['sent', undefined],
    ])
    await invalidCall(text({ to: [to], variables: given[1] }), ['variables'])
  })

  test('S-199 SD-03 SD-57 one that is invalid is refused as a whole', async () => {
    const to = numbers(2)
    const invalid: [more: Body, path: (string | number)[]][] = [
      [{ to: [to[0], 'x'] }, ['to', 1]],
      [{ from: undefined }, ['from']],
      [{ body: undefined }, ['body']],
      [{ template: 'hi' }, ['template']],
      [{ scheduled_at: '2100-01-01T00:00:00Z' }, ['scheduled_at']],
      [{ scheduled_local: '2100-01-01T00:00' }, ['scheduled_local']],
      [{ from_pool: 'main' }, ['from_pool']],
    ]
    for (const [more, path] of invalid) await invalidCall(text({ to, ...more }), path)
    const media = (media_url: string[]) => leavesNoTrace(() => acme.batch(text({ to, media_url })))
    expectRefusal(await media(['https://example.com/a']), 'MMS_INVALID_MEDIA_URI')
    expectRefusal(await media(new Array(11).fill('s3://abc/key')), 'MMS_TOO_MANY_ATTACHMENTS')
  })
})

describe('the quota', () => {
  test('S-192 X-305 a batch that exceeds the plan is refused as a whole, one that uses it up is sent, and email is not affected', async () => {
    const own = await texter(t, { sms: 5 })
    const ask = (n: number) => own.batch(text({ to: numbers(n) }))
    expect((await ask(6)).body.error.code).toBe('USAGE_LIMIT_EXCEEDED')
    expectRefusal(await leavesNoTrace(() => ask(6)), 'USAGE_LIMIT_EXCEEDED')
    expect((await ask(5)).body).toMatchObject({ succeeded: 5 })
    expectRefusal(await leavesNoTrace(() => ask(1)), 'USAGE_LIMIT_EXCEEDED')
    expectRefusal(await leavesNoTrace(() => own.send(text())), 'USAGE_LIMIT_EXCEEDED')
    const mail = { from: 'hello@example.test', to: ['ada@example.com'], subject: 'Hello', text: 'Hello' }
    expect((await t.ask('POST', '/api/v1/emails', { key: own.live, body: mail })).status).toBe(200)
    expect((await own.batch(text({ to: numbers(6) }), { key: own.test })).body.succeeded).toBe(6)
  })

  test('S-192 S-184 a batch that exceeds the quota of the tenant is refused as a whole', async () => {
    const own = await texter(t)
    const tenantId = await t.tenant(own.orgId)
    const key = await t.key(own.orgId, { tenantId })
    await t.ask('PATCH', `/api/v1/tenants/${tenantId}/quota`, { key: own.live, body: { sms_monthly: 2 } })
    const ask = (n: number) => own.batch(text({ to: numbers(n) }), { key })
    expect((await ask(3)).body.error.code).toBe('TENANT_QUOTA_EXCEEDED')
    expectRefusal(await leavesNoTrace(() => ask(3)), 'TENANT_QUOTA_EXCEEDED')
    expect((await ask(2)).body.succeeded).toBe(2)
    expectRefusal(await leavesNoTrace(() => own.send(text(), { key })), 'TENANT_QUOTA_EXCEEDED')
  })

  test('XD-27 the spend of a batch is judged whole, by segment', async () => {
    const own = await texter(t, { plan: 'payg', spendMicros: 3 * 8_300 })
    const item = (length: number) => text({ body: 'x'.repeat(length) })
    expect((await own.batch([item(161), item(161)])).body.error.code).toBe('SPEND_CAP_EXCEEDED')
    expect((await own.batch([item(161), item(1)])).body.succeeded).toBe(2)
    expect(await own.used()).toMatchObject({ 'org live spend': 3 * 8_300, 'org live segments': 3 })
  })

  test('S-192 SD-37 usage of items that were not sent is released', async () => {
    const own = await texter(t, { plan: 'payg', sms: 4 })
    await own.suppress('+15125550111')
    const long = { body: 'x'.repeat(400) }
    const reply = await own.batch([
      text({ to: '+15125550111', ...long }),
      text({ from: 'NOBODY', ...long }),
      text({ to: simulated.refused, ...long }),
      text(long),
    ])
    expect(codes(reply)).toEqual(['SUPPRESSED', 'SENDER_NOT_VERIFIED', 'PROVIDER_ERROR', 'sent'])
    expect(await own.used()).toEqual({
      'org live sms': 1,
      'key live sms': 1,
      'org live segments': 3,
      'key live segments': 3,
      'org live spend': 24_900,
      'key live spend': 24_900,
    })
    expect((await own.batch(new Array(3).fill(text()))).body.succeeded).toBe(3)
  })

  test('S-192 of concurrent batches that exceed the quota together, one is sent', async () => {
    const own = await texter(t, { sms: 10 })
    const replies = await Promise.all(Array.from({ length: 6 }, () => own.batch(new Array(7).fill(text()))))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 429, 429, 429, 429, 429])
    expect(await own.traces()).toMatchObject({ outbox: 7, used: { 'org live sms': 7 } })
  })
})

describe('idempotency', () => {
  test.for([
    ['a single send', (own: Texter, headers: Record<string, string>) => own.send(text(), { headers })],
    ['an array', (own: Texter, headers: Record<string, string>) => own.batch([text(), text({ to: 'x' })], { headers })],
    ['a bulk call', (own: Texter, headers: Record<string, string>) => own.batch(text({ to: numbers(2) }), { headers })],
  ] as const)('S-019 S-184 SD-06 %s is sent once under its key', async ([, call]) => {
    const own = await texter(t)
    const headers = { 'idempotency-key': 'once' }
    const first = await call(own, headers)
    expect(first.status).toBe(200)
    const before = await own.traces()
    const again = await leavesNoTrace(() => call(own, headers))
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(await own.traces()).toEqual(before)
    const other = await leavesNoTrace(() => own.send(text({ body: 'Another' }), { headers }))
    expectRefusal(other, 'IDEMPOTENCY_MISMATCH')
    expectRefusal(await leavesNoTrace(() => own.batch([text({ body: 'x' })], { headers })), 'IDEMPOTENCY_MISMATCH')
  })

  test('S-019 S-184 a request under a key that is in use is refused', async () => {
    const own = await texter(t)
    const headers = { 'idempotency-key': 'slow' }
    const slow = own.send(text({ to: simulated.slow }), { headers })
    await expect
      .poll(() => t.database.sql('select 1 from idempotency_keys where org_id = $1', [own.orgId]))
      .toHaveLength(1)
    expectRefusal(await own.send(text({ to: simulated.slow }), { headers }), 'IDEMPOTENCY_IN_FLIGHT')
    expect((await slow).status).toBe(200)
    expect(await own.traces()).toMatchObject({ messages: ['sent'], outbox: 1 })
  })
})

test('S-198 X-338 S-195 at most 10 items are sent at the same time, and their sender is looked up once', async () => {
  let running = 0
  let most = 0
  const watched = await testService({
    smsProvider: {
      name: 'watched',
      send: async ({ messageId }) => {
        most = Math.max(most, ++running)
        await pause(5)
        running--
        return { provider: 'watched', providerMessageId: messageId }
      },
      close: async () => undefined,
    },
  })
  const own = await texter(watched)
  const { db } = watched.service
  const rowOf = db.row
  const lookups: string[] = []
  const name = (statement: unknown) => (statement as { name: string }).name
  db.row = ((statement: never, params: never) => {
    lookups.push(name(statement))
    return rowOf(statement, params)
  }) as typeof db.row
  const reply = await own.batch(text({ to: numbers(100) }))
  expect(reply.body).toMatchObject({ succeeded: 100 })
  expect(most).toBe(10)
  expect(lookups.filter((lookup) => lookup === 'senders.find_sender_id')).toHaveLength(1)
})
