/** The effects of provider reports on a sent message: statuses, events and suppressions. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postOf } from '../../../test/clients/post-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Report } from '../../providers/handover.ts'

const t = await startTestService()
afterAll(() => t.stop())
const created = await t.org()
const orgId = created.org.id
const post = postOf(t, created)
const { outcomes } = t.service.modules.messages

let addresses = 0
const address = () => `reader${addresses++}@reader.test`

type PartialReport = Partial<Report> & { kind: Report['kind']; recipients: string[] }
const report = (messageId: string, partial: PartialReport, id = newId('request')) =>
  outcomes.take({
    provider: 'ses',
    id,
    orgId,
    messageId,
    report: { at: t.service.clock.now(), detail: null, bounceType: null, bounceSubtype: null, ...partial },
  })

const suppressed = (value: string) =>
  t.database.sql(
    'select channel, reason, source, message_id, tenant_id from suppressions where org_id = $1 and value = $2',
    [orgId, value],
  )
const messageEvents = (messageId: string) =>
  t.database.sql(
    'select kind, recipient, channel, environment, tenant_id from message_events where message_id = $1 order by id',
    [messageId],
  )
const eventNames = async (messageId: string) => (await post.events(messageId)).map(({ event }) => event)

describe('from sent', () => {
  describe('a delivery report', () => {
    const to = address()
    const owner = { tenant_id: null, environment: 'live' }
    let id: string
    let at: Date

    beforeAll(async () => {
      id = await post.sent({ to: [to] })
      at = new Date(t.service.clock.millis() + 1_000)
      await report(id, { kind: 'delivered', recipients: [to], at, detail: '250 2.0.0 taken' })
    })

    test('S-238 S-241 sets the status to delivered and adds the report to the history', async () => {
      const { body } = await post.get(id)
      expect(body).toMatchObject({ status: 'delivered', delivered_at: at.toISOString(), error_message: null })
      expect(body.status_history).toEqual([
        { status: 'sent', at: body.sent_at, recipient: null, detail: null },
        { status: 'delivered', at: at.toISOString(), recipient: to, detail: '250 2.0.0 taken' },
      ])
      expect(await messageEvents(id)).toEqual([{ kind: 'delivered', recipient: to, channel: 'email', ...owner }])
    })

    test('S-239 S-241 X-077 X-080 fires message.delivered once, after the message.sent of the send', async () => {
      expect(await post.events(id)).toEqual([
        { event: 'message.sent', data: { message_id: id, channel: 'email', status: 'sent' }, ...owner },
        {
          event: 'message.delivered',
          data: { message_id: id, channel: 'email', status: 'delivered' },
          ...owner,
        },
      ])
    })

    test('S-241 does not suppress the recipient', async () => {
      expect(await suppressed(to)).toEqual([])
    })
  })

  describe('a permanent bounce', () => {
    const to = address()
    const detail = '550 5.1.1 no such mailbox'
    let id: string

    beforeAll(async () => {
      id = await post.sent({ to: [to.toUpperCase()] })
      const bounce = { kind: 'hard_bounce', bounceType: 'Permanent', bounceSubtype: 'General', detail } as const
      await report(id, { ...bounce, recipients: [to.toUpperCase()] })
    })

    test('S-242 X-084 sets the status to bounced and shows the bounce type', async () => {
      expect((await post.get(id)).body).toMatchObject({
        status: 'bounced',
        delivered_at: null,
        error_message: `Hard bounce: ${detail}`,
        provider_response: { bounce_type: 'Permanent', bounce_subtype: 'General', detail },
      })
    })

    test('S-242 X-081 X-084 fires message.bounced with the reason and without the bounce type', async () => {
      expect((await post.events(id))[1]).toEqual({
        event: 'message.bounced',
        tenant_id: null,
        environment: 'live',
        data: { message_id: id, channel: 'email', status: 'bounced', reason: detail },
      })
    })

    test('S-242 X-082 SD-65 suppresses the address for the org', async () => {
      expect(await suppressed(to)).toEqual([
        {
          channel: 'email',
          reason: 'bounce',
          source: 'provider',
          message_id: id,
          tenant_id: null,
        },
      ])
      expectRefusal(await post.send({ to: [to] }), 'ALL_SUPPRESSED')
    })
  })

  test('X-082 SD-65 a permanent bounce of a tenant suppresses the address for that tenant only', async () => {
    const tenants = tenantClient(t, created)
    const tenantId = await tenants.made()
    const key = await t.key(orgId, { tenantId })
    const to = address()
    const id = await post.sent({ to: [to] }, key)
    await report(id, { kind: 'hard_bounce', recipients: [to] })
    expect(await suppressed(to)).toMatchObject([{ tenant_id: tenantId, reason: 'bounce' }])
    expect((await post.events(id)).map(({ tenant_id }) => tenant_id)).toEqual([tenantId, tenantId])
    expect(await messageEvents(id)).toMatchObject([{ tenant_id: tenantId, kind: 'bounced' }])
  })

  test('S-243 X-083 X-084 a soft bounce sets the status to bounced and does not suppress the address', async () => {
    const to = address()
    const id = await post.sent({ to: [to] })
    await report(id, { kind: 'soft_bounce', recipients: [to], bounceType: 'Transient' })
    expect((await post.get(id)).body).toMatchObject({
      status: 'bounced',
      error_message: 'Soft bounce',
      provider_response: { bounce_type: 'Transient' },
    })
    // The report has no detail, so the event has no reason.
    expect((await post.events(id))[1]?.data).toEqual({ message_id: id, channel: 'email', status: 'bounced' })
    expect(await suppressed(to)).toEqual([])
    expect((await post.send({ to: [to] })).status).toBe(200)
  })

  test('S-244 X-090 X-091 a complaint sets bounced, suppresses, and fires message.complained instead of message.bounced', async () => {
    const to = address()
    const id = await post.sent({ to: [to] })
    await report(id, { kind: 'complaint', recipients: [to], detail: 'abuse' })
    expect((await post.get(id)).body).toMatchObject({ status: 'bounced', error_message: 'Complaint: abuse' })
    expect((await post.events(id)).map(({ event, data }) => [event, data])).toEqual([
      ['message.sent', { message_id: id, channel: 'email', status: 'sent' }],
      ['message.complained', { message_id: id, channel: 'email', status: 'bounced' }],
    ])
    expect(await suppressed(to)).toMatchObject([{ reason: 'complaint', message_id: id }])
    expect(await messageEvents(id)).toMatchObject([{ kind: 'complained', recipient: to }])
  })

  test('S-240 X-086 X-087 a single send that the provider refuses is stored as failed and fires no event', async () => {
    const { status, body } = await post.send({ to: ['refused@simulator.tidings.test'] })
    expect([status, body.error.code]).toEqual([500, 'INTERNAL_ERROR'])
    const id = body.error.message_id
    expect([(await post.row(id)).status, await post.events(id)]).toEqual(['failed', []])
  })
})

describe('from other statuses', () => {
  test('S-244 SD-61 a complaint after the delivery sets bounced and suppresses', async () => {
    const to = address()
    const id = await post.sent({ to: [to] })
    await report(id, { kind: 'delivered', recipients: [to] })
    await report(id, { kind: 'complaint', recipients: [to] })
    expect((await post.row(id)).status).toBe('bounced')
    expect(await eventNames(id)).toEqual(['message.sent', 'message.delivered', 'message.complained'])
    expect(await suppressed(to)).toMatchObject([{ reason: 'complaint' }])
  })

  test('SD-61 SD-65 a bounced message stays bounced; later reports still suppress, and a complaint outranks a bounce', async () => {
    const to = address()
    const id = await post.sent({ to: [to] })
    await report(id, { kind: 'soft_bounce', recipients: [to], detail: 'full' })
    const { status, error_message } = await post.row(id)
    await report(id, { kind: 'delivered', recipients: [to] })
    await report(id, { kind: 'hard_bounce', recipients: [to] })
    expect(await suppressed(to)).toMatchObject([{ reason: 'bounce' }])
    await report(id, { kind: 'complaint', recipients: [to] })
    expect(await suppressed(to)).toMatchObject([{ reason: 'complaint' }])
    await report(id, { kind: 'hard_bounce', recipients: [to] })
    expect(await suppressed(to)).toMatchObject([{ reason: 'complaint' }])
    expect(await post.row(id)).toMatchObject({ status, error_message })
    expect(await eventNames(id)).toEqual(['message.sent', 'message.bounced'])
  })

  test("R-17 X-090 a complaint after another recipient's bounce fires message.complained, once per recipient", async () => {
    const [a, b, c] = [address(), address(), address()]
    const id = await post.sent({ to: [a], cc: [b, c] })
    await report(id, { kind: 'hard_bounce', recipients: [a], detail: 'gone' })
    const { status, error_message } = await post.row(id)
    for (let times = 0; times < 2; times++) await report(id, { kind: 'complaint', recipients: [b], detail: 'abuse' })
    await report(id, { kind: 'complaint', recipients: [b, c], detail: 'abuse' })
    expect((await post.events(id)).slice(2).map(({ event, data }) => [event, data])).toEqual(
      new Array(2).fill(['message.complained', { message_id: id, channel: 'email', status: 'bounced' }]),
    )
    expect(await eventNames(id)).toHaveLength(4)
    expect(await post.row(id)).toMatchObject({ status, error_message })
    for (const to of [b, c]) expect(await suppressed(to)).toMatchObject([{ reason: 'complaint', message_id: id }])
  })

  test('SD-61 reports do not change failed and canceled messages', async () => {
    const canceled = await post.scheduled()
    await post.cancel(canceled)
    const failed = (await post.send({ to: ['refused@simulator.tidings.test'] })).body.error.message_id
    for (const id of [canceled, failed]) {
      const { status } = await post.row(id)
      for (const kind of ['delivered', 'soft_bounce', 'complaint'] as const) {
        await report(id, { kind, recipients: ['ann@reader.test'] })
      }
      expect([(await post.row(id)).status, await post.events(id)]).toEqual([status, []])
    }
  })

  test('SD-62 with several recipients, the first delivery sets delivered, any bounce sets bounced, and each is suppressed alone', async () => {
    const [a, b, c] = [address(), address(), address()]
    const id = await post.sent({ to: [a], cc: [b], bcc: [c] })
    await report(id, { kind: 'delivered', recipients: [a] })
    expect((await post.row(id)).status).toBe('delivered')
    await report(id, { kind: 'delivered', recipients: [a, b] })
    await report(id, { kind: 'hard_bounce', recipients: [c] })
    const row = await post.row(id)
    expect(row.status).toBe('bounced')
    expect(row.history.map(({ status, recipient }) => [status, recipient])).toEqual([
      ['sent', undefined],
      ['delivered', a],
      ['delivered', b],
      ['bounced', c],
    ])
    expect(await eventNames(id)).toEqual(['message.sent', 'message.delivered', 'message.bounced'])
    expect([await suppressed(a), await suppressed(b), (await suppressed(c)).length]).toEqual([[], [], 1])
  })

  test('a delivery reported for a time before the send gets the time of the send', async () => {
    const to = address()
    const id = await post.sent({ to: [to] })
    await report(id, { kind: 'delivered', recipients: [to], at: new Date(0) })
    const { body } = await post.get(id)
    expect(body.delivered_at).toBe(body.sent_at)
  })

  test('AD-107 reports about an erased message store nothing', async () => {
    const tenants = tenantClient(t, created)
    const tenantId = await tenants.made()
    const to = address()
    const id = await post.sent({ to: [to] }, await t.key(orgId, { tenantId }))
    await tenants.move('archive', tenantId)
    expect((await tenants.move('erase', tenantId)).body.messages_redacted).toBe(1)
    const before = await post.row(id)
    await report(id, { kind: 'complaint', recipients: [to] })
    expect([await post.row(id), await messageEvents(id), await suppressed(to)]).toEqual([before, [], []])
  })
})

describe('simulated outcomes', () => {
  test('S-238 SD-09 SD-55 have the same effects in the test environment, except suppressions', async () => {
    const expected = {
      delivered: ['delivered', 'message.delivered'],
      bounced: ['bounced', 'message.bounced'],
      softbounced: ['bounced', 'message.bounced'],
      complained: ['bounced', 'message.complained'],
    }
    for (const [part, [status, event]] of Object.entries(expected)) {
      const to = `${part}@simulator.tidings.test`
      const id = await post.sent({ to: [to] }, created.keys.test)
      await expect.poll(async () => (await post.row(id)).status).toBe(status)
      expect((await post.events(id)).map(({ event: name, environment }) => [name, environment])).toEqual([
        ['message.sent', 'test'],
        [event, 'test'],
      ])
      expect([await suppressed(to), await post.handed(id)]).toEqual([[], []])
    }
  })
})

describe('POST /api/dev/notify', () => {
  test('reports the outcome for every recipient', async () => {
    const [a, b] = [address(), address()]
    const id = await post.sent({ to: [a], bcc: [b] })
    const reply = await post.notify(id, 'hard_bounce')
    expect([reply.status, reply.body]).toEqual([200, { message_id: id, outcome: 'hard_bounce' }])
    const { body } = await post.get(id)
    expect([body.status, body.provider_response.bounce_type]).toEqual(['bounced', 'Permanent'])
    expect([(await suppressed(a)).length, (await suppressed(b)).length]).toEqual([1, 1])
  })

  test.each([
    ['delivered', 'delivered'],
    ['soft_bounce', 'bounced'],
    ['complaint', 'bounced'],
  ])('%s sets the status to %s', async (outcome, status) => {
    const id = await post.sent({ to: [address()] })
    await post.notify(id, outcome)
    expect((await post.row(id)).status).toBe(status)
  })

  test('an unknown message is 404 and an unknown outcome 422, and nothing changes', async () => {
    const id = await post.sent({ to: [address()] })
    const leavesNoTrace = await watchTables(t.database)
    for (const unknown of [newId('message'), 'msg_x', '', orgId]) {
      expectRefusal(await leavesNoTrace(() => post.notify(unknown, 'delivered')), 'NOT_FOUND')
    }
    const reply = await leavesNoTrace(() => post.notify(id, 'exploded'))
    expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  })
})
