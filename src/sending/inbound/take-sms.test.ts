/** Text messages from phones: what is stored, who is suppressed, and which events are written. */
import { afterAll, describe, expect, test } from 'vitest'
import { freshNumber, phoneClient } from '../../../test/clients/phone-client.ts'
import { text } from '../../../test/clients/texter.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const ism = expect.stringMatching(/^ism_[0-9a-z]{26}$/)
const sup = expect.stringMatching(/^sup_[0-9a-z]{26}$/)

describe('a reply', () => {
  test('S-254 X-115 R-40 R-42 is stored and fires inbound.sms before it is acknowledged', async () => {
    const own = await phoneClient(t)
    const from = freshNumber()
    const prior = await own.sent(from)
    const reply = await own.receive(from, 'Thanks! 👍', { media_url: ['https://example.com/a.jpg'] })
    expect([reply.status, reply.body]).toEqual([200, { status: 'stored', id: ism, kind: 'reply', keyword: null }])
    const { id } = reply.body
    const shown = await own.inboundOne(id)
    expect([shown.status, shown.body]).toEqual([
      200,
      {
        id,
        channel: 'sms',
        from,
        to: own.line,
        body: 'Thanks! 👍',
        media_url: ['https://example.com/a.jpg'],
        kind: 'reply',
        keyword: null,
        in_reply_to: prior,
        tenant_id: null,
        received_at: iso,
        created_at: iso,
      },
    ])
    expect(await own.inboundEvents()).toEqual([
      {
        event: 'inbound.sms',
        tenant_id: null,
        environment: 'live',
        data: {
          id,
          status: 'received',
          from,
          to: own.line,
          body: 'Thanks! 👍',
          media_url: ['https://example.com/a.jpg'],
          pool: null,
          in_reply_to_message_id: prior,
          received_at: shown.body.received_at,
        },
      },
    ])
    expect(await own.suppressed()).toEqual([])
  })

  test('X-115 names the pool of the number, and prefers the one that the answered message was sent from', async () => {
    const own = await phoneClient(t)
    const [stranger, customer] = [freshNumber(), freshNumber()]
    for (const slug of ['first', 'second']) await own.pool(slug, [own.lineId])
    const sent = await own.send({ from_pool: 'second', to: customer, body: 'Hello' })
    expect(sent.status, sent.text).toBe(200)
    await own.received(stranger, 'Hi')
    await own.received(customer, 'Hi')
    expect((await own.inboundEvents()).map(({ data }) => [data.pool, data.in_reply_to_message_id])).toEqual([
      ['first', null],
      ['second', sent.body.id],
    ])
  })

  test.each(['START', 'UNSTOP', 'YES'])('SD-68 %s lifts no suppression', async (body) => {
    const own = await phoneClient(t)
    const from = freshNumber()
    await own.received(from, 'STOP')
    await own.received(from, body)
    expect((await own.suppressed()).map(({ reason }) => reason)).toEqual(['stop'])
    expect((await own.inboundEvents()).map(({ event }) => event)).toEqual(['suppression.created', 'inbound.sms'])
  })

  test('XD-15 that is longer than 64 KB is cut in the event, and whole in the read', async () => {
    const own = await phoneClient(t)
    const body = `${'x'.repeat(65_535)}👍 and more`
    const id = await own.received(freshNumber(), body)
    expect((await own.inboundEvents())[0]?.data.body).toBe(`${'x'.repeat(65_535)}\ufffd`)
    expect((await own.inboundOne(id)).body.body).toBe(body)
  })
})

describe('an opt-out', () => {
  test('S-262 S-263 X-101 X-104 suppresses the sender and fires suppression.created, not inbound.sms', async () => {
    const own = await phoneClient(t)
    const from = freshNumber()
    const prior = await own.sent(from)
    const reply = await own.receive(from, 'Stop.')
    expect(reply.body).toEqual({ status: 'stored', id: ism, kind: 'opt_out', keyword: 'STOP' })
    const [suppressed, ...others] = await own.suppressed()
    expect([suppressed, others]).toEqual([
      {
        id: sup,
        value: from,
        tenant_id: null,
        channel: 'sms',
        reason: 'stop',
        source: 'sms_reply',
        message_id: prior,
        created_environment: 'live',
      },
      [],
    ])
    expect(await own.inboundEvents()).toEqual([
      {
        event: 'suppression.created',
        tenant_id: null,
        environment: 'live',
        data: {
          id: suppressed?.id,
          channel: 'sms',
          value: from,
          reason: 'stop',
          source: 'sms_reply',
          inbound_sms_id: reply.body.id,
          created_at: iso,
        },
      },
    ])
    expect((await own.inboundOne(reply.body.id)).body).toMatchObject({ kind: 'opt_out', keyword: 'STOP' })
  })

  test('S-264 S-265 refuses further messages to the number with SUPPRESSED, and cannot be deleted', async () => {
    const own = await phoneClient(t)
    const from = freshNumber()
    await own.received(from, 'STOPALL')
    const [{ id } = { id: '' }] = (await own.suppressed()) as { id: string }[]
    await leavesNoTrace(async () => {
      expectRefusal(await own.send(text({ to: from })), 'SUPPRESSED')
      expectRefusal(await own.send(text({ to: from, from: own.line })), 'SUPPRESSED')
    })
    expect((await own.send(text({ to: freshNumber() }))).status).toBe(200)
    const removals = [`/${id}`, `?id=${id}`, `?channel=sms&value=${encodeURIComponent(from)}`]
    for (const removal of removals) {
      const path = `/api/v1/suppressions${removal}`
      expectRefusal(await t.ask('DELETE', path, { key: own.live }), 'SUPPRESSION_PROTECTED', {}, removal)
    }
    expect(await own.suppressed()).toHaveLength(1)
  })

  test.each(['stop', 'complaint'])('X-102 that repeats a suppression with reason %s fires nothing', async (reason) => {
    const own = await phoneClient(t)
    const from = freshNumber()
    await own.suppress(from, reason)
    const before = await own.suppressed()
    await own.received(from, 'STOP')
    await own.received(from, 'quit')
    expect([await own.suppressed(), await own.inboundEvents()]).toEqual([before, []])
    expect((await own.inbound(`?from=${encodeURIComponent(from)}`)).body.data).toHaveLength(2)
  })

  test.each(['bounce', 'manual', 'unsubscribe'])(
    'X-103 of a number that is suppressed with reason %s changes the reason to stop and fires the event',
    async (reason) => {
      const own = await phoneClient(t)
      const from = freshNumber()
      await own.suppress(from, reason)
      const [{ id } = { id: '' }] = (await own.suppressed()) as { id: string }[]
      const inboundId = await own.received(from, 'STOP')
      expect(await own.suppressed()).toMatchObject([{ id, reason: 'stop', source: 'sms_reply' }])
      expect(await own.inboundEvents()).toMatchObject([
        { event: 'suppression.created', data: { id, reason: 'stop', inbound_sms_id: inboundId } },
      ])
      await own.received(from, 'STOP')
      expect(await own.inboundEvents()).toHaveLength(1)
    },
  )

  test('S-262 of an org that is suspended still counts', async () => {
    const own = await phoneClient(t)
    await t.database.sql("update orgs set suspended_at = $2, suspension_reason = 'x' where id = $1", [
      own.orgId,
      t.service.clock.now(),
    ])
    await own.received(freshNumber(), 'STOP')
    expect(await own.suppressed()).toHaveLength(1)
  })
})

test('S-260 X-116 HELP and INFO are stored, and neither suppress, fire an event nor send a reply', async () => {
  const own = await phoneClient(t)
  const from = freshNumber()
  for (const [body, keyword] of [
    ['Help!', 'HELP'],
    ['info', 'INFO'],
  ] as const) {
    const reply = await own.receive(from, body)
    expect(reply.body).toEqual({ status: 'stored', id: ism, kind: 'help', keyword })
    expect((await own.inboundOne(reply.body.id)).body).toMatchObject({ body, kind: 'help', keyword })
  }
  expect([await own.suppressed(), await own.inboundEvents(), await own.outbox()]).toEqual([[], [], []])
})

describe('a repeated delivery', () => {
  test('S-254 R-04 of one message is stored once, also when both arrive at the same time', async () => {
    const own = await phoneClient(t)
    const from = freshNumber()
    const once = { provider_message_id: `pm-${from}` }
    const replies = await Promise.all(Array.from({ length: 8 }, () => own.receive(from, 'STOP', once)))
    const count = (status: string) => replies.filter(({ body }) => body.status === status).length
    expect([count('stored'), count('repeated')]).toEqual([1, 7])
    expect((await own.inbound()).body.data).toHaveLength(1)
    expect(await own.inboundEvents()).toHaveLength(1)
    const again = await leavesNoTrace(() => own.receive(from, 'STOP', once))
    expect(again.body).toEqual({ status: 'repeated', id: null, kind: null, keyword: null })
    expect((await own.receive(from, 'STOP', { provider_message_id: `pm2-${from}` })).body.status).toBe('stored')
  })
})

describe('a number', () => {
  test('that nobody has is not found, and nothing is stored', async () => {
    const own = await phoneClient(t)
    const simulated = freshNumber()
    await own.number(simulated, { environment: 'test' })
    await leavesNoTrace(async () => {
      for (const to of [freshNumber(), simulated, 'TIDINGS', '12345']) {
        expectRefusal(await own.receive(freshNumber(), 'STOP', { to }), 'NOT_FOUND', {}, to)
      }
    })
  })

  test('that two orgs have belongs to the one that wrote last, or else to the one that had it first', async () => {
    const [first, second] = [await phoneClient(t), await phoneClient(t)]
    await second.number(first.line)
    const [stranger, customer] = [freshNumber(), freshNumber()]
    expect((await second.send({ from: first.line, to: customer, body: 'Hi' })).status).toBe(200)
    for (const from of [stranger, customer]) await first.received(from, 'STOP')
    const valuesOf = async (own: typeof first) => (await own.suppressed()).map(({ value }) => value)
    expect([await valuesOf(first), await valuesOf(second)]).toEqual([[stranger], [customer]])
  })

  test.each([
    ['2065550143', '+12065550143'],
    ['12065550144', '+12065550144'],
    ['447400123456', '+447400123456'],
    ['72345', '72345'],
    ['AMAZON', 'AMAZON'],
  ])('S-262 that a network writes as %s is suppressed as %s', async (written, value) => {
    const own = await phoneClient(t)
    expect((await own.receive(written, 'STOP', { to: own.line.slice(1) })).status).toBe(200)
    expect(await own.suppressed()).toMatchObject([{ value }])
  })
})

test.each([
  [{ from: '' }, 'from'],
  [{ to: 'x'.repeat(321) }, 'to'],
  [{ body: 'x'.repeat(100_001) }, 'body'],
  [{ body: 1 }, 'body'],
  [{ media_url: Array(11).fill('https://example.com') }, 'media_url'],
  [{ provider_message_id: '' }, 'provider_message_id'],
])('An invalid inbound message %# is refused, and nothing is stored', async (more, field) => {
  const own = await phoneClient(t)
  const reply = await leavesNoTrace(() => own.receive(freshNumber(), 'Hi', more))
  expect([reply.status, reply.body.error.code, reply.body.error.errors[0].path]).toEqual([
    422,
    'VALIDATION_ERROR',
    [field],
  ])
})
