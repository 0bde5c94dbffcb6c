/** Sends when the provider fails, the database rejects the row, the time limit passes, or a request is repeated. */
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { advance } from '../../../../test/clients/key-client.ts'
import { type Body, type Mailer, mail, mailer, simulator } from '../../../../test/clients/mailer.ts'
import { expectRefusal } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService, type TestService, testService } from '../../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const refused = simulator('refused')
const reason = '550 5.7.1 Refused by the simulator'
const message = 'Accepted by the provider but not stored. Do not send it again.'
const nothing = { messages: [], events: [], audited: [], outbox: 0, used: {} }
type Item = { index: number; id: string | null; status: string; error: Body | null }

/** Makes the database reject rows with that status while `work` runs. */
const whileRejecting = async (status: string, work: () => Promise<void>) => {
  await t.database.sql(`alter table messages add constraint rejecting check (status <> '${status}') not valid`)
  try {
    await work()
  } finally {
    await t.database.sql('alter table messages drop constraint rejecting')
  }
}
const outboxTo = async (address: string): Promise<unknown[]> =>
  (await t.ask('GET', `/api/dev/outbox?to=${address}`)).body.data

describe('when the provider refuses', () => {
  describe('a single send', () => {
    let own: Mailer
    let reply: Reply

    beforeAll(async () => {
      own = await mailer(t)
      reply = await own.send(mail({ to: [refused] }))
    })

    test('S-111 X-289 SD-36 R-09 returns 500 with the id of the failed message', () => {
      expect([reply.status, reply.body.error]).toEqual([
        500,
        {
          type: 'server_error',
          code: 'INTERNAL_ERROR',
          message: expect.any(String),
          request_id: reply.headers['x-request-id'],
          message_id: expect.stringMatching(/^msg_/),
        },
      ])
    })

    test('X-086 X-087 leaves only the failed message: no event, no audit entry, no usage', async () => {
      expect(await own.traces()).toEqual({ ...nothing, messages: ['failed'] })
    })

    test("S-111 SD-36 stores the message as failed with the provider's reason", async () => {
      const { message_id } = reply.body.error
      expect((await own.get(message_id)).body).toMatchObject({
        status: 'failed',
        error_message: reason,
        sent_at: null,
        to: [refused],
        text: 'Hello, Ada',
        provider_response: { message_id: null, detail: reason },
        status_history: [{ status: 'failed', at: expect.any(String), recipient: null, detail: reason }],
      })
      expect((await own.list('?status=failed')).body.data[0].id).toBe(message_id)
    })
  })

  test('S-129 X-088 X-295 a batch item returns its id, is stored as failed, and fires message.failed', async () => {
    const own = await mailer(t)
    const reply = await own.batch([mail({ to: [refused] }), mail()])
    const [failed, sent] = reply.body.data as [Item, Item]
    expect([reply.status, failed]).toEqual([
      200,
      {
        index: 0,
        id: expect.stringMatching(/^msg_/),
        status: 'failed',
        error: { code: 'PROVIDER_ERROR', message: reason },
      },
    ])
    expect(sent).toEqual({ index: 1, id: expect.stringMatching(/^msg_/), status: 'sent', error: null })
    expect((await own.list('?status=failed')).body.data.map(({ id }: Item) => id)).toEqual([failed.id])
    const events = await own.events()
    expect(events.filter(({ event }) => event === 'message.failed')).toEqual([
      {
        event: 'message.failed',
        environment: 'live',
        tenant_id: null,
        data: { message_id: failed.id, channel: 'email', status: 'failed', error: reason },
      },
    ])
    expect(events).toHaveLength(2)
    expect(await own.used()).toMatchObject({ 'org live email': 1, 'key live email': 1 })
  })
})

describe('when the database rejects the row', () => {
  test('S-131 X-296 SD-39 a sent batch item is counted, fires no event, and its error warns against sending it again', async () => {
    const own = await mailer(t)
    const to = 'unrecorded@example.com'
    await whileRejecting('sent', async () => {
      const reply = await own.batch([mail({ to: [to] })])
      expect([reply.status, reply.body]).toEqual([
        200,
        {
          data: [
            {
              index: 0,
              id: null,
              status: 'sent',
              error: {
                code: 'MESSAGE_NOT_RECORDED',
                message: expect.stringMatching(/do not send it again/i),
              },
            },
          ],
          total: 1,
          succeeded: 1,
          failed: 0,
        },
      ])
    })
    expect(await outboxTo(to)).toHaveLength(1)
    expect(await own.traces()).toMatchObject({ messages: [], events: [], used: { 'org live email': 1 } })
  })

  test('S-132 a refused batch item has no id, fires no event, is not counted, and can be retried', async () => {
    const own = await mailer(t)
    await whileRejecting('failed', async () => {
      const reply = await own.batch([mail({ to: [refused] })])
      expect(reply.body).toEqual({
        data: [{ index: 0, id: null, status: 'failed', error: { code: 'PROVIDER_ERROR', message: reason } }],
        total: 1,
        succeeded: 0,
        failed: 1,
      })
    })
    expect(await own.traces()).toEqual(nothing)
  })

  test('one item that cannot be stored does not affect other items of the same call', async () => {
    const own = await mailer(t)
    await whileRejecting('failed', async () => {
      const reply = await own.batch([mail(), mail({ to: [refused] }), mail()])
      expect(reply.body.data.map(({ id }: Item) => id !== null)).toEqual([true, false, true])
    })
    expect(await own.traces()).toMatchObject({ messages: ['sent', 'sent'], outbox: 2 })
  })

  test('S-111 SD-36 the error of a single send has no message id', async () => {
    const own = await mailer(t)
    await whileRejecting('failed', async () => {
      expectRefusal(await own.send(mail({ to: [refused] })), 'INTERNAL_ERROR')
    })
    await whileRejecting('sent', async () => {
      expectRefusal(await own.send(mail({ to: ['lost@example.com'] })), 'INTERNAL_ERROR', { message })
    })
    expect(await own.traces()).toMatchObject({
      messages: [],
      events: [],
      audited: [],
      used: { 'org live email': 1 },
    })
  })

  test('S-015 a single send that was sent but not stored is not sent again with the same Idempotency-Key', async () => {
    const own = await mailer(t)
    const body = mail({ to: ['taken@example.com'] })
    const key = { headers: { 'idempotency-key': 'taken' } }
    await whileRejecting('sent', async () => {
      expectRefusal(await own.send(body, key), 'INTERNAL_ERROR', { message })
    })
    expectRefusal(await own.send(body, key), 'IDEMPOTENCY_IN_FLIGHT')
    expect(await outboxTo('taken@example.com')).toHaveLength(1)
  })
})

describe('with an SMTP relay', () => {
  /** A service that sends through an SMTP relay of the test. */
  const withRelay = async (
    options: SMTPServerOptions,
    env: Record<string, string> = {},
  ): Promise<[TestService, Mailer, () => void]> => {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      logger: false,
      ...options,
    })
    server.on('error', () => undefined)
    const sockets = new Set<Socket>()
    server.server.on('connection', (socket: Socket) => sockets.add(socket))
    const hangUp = () => {
      for (const socket of sockets) socket.destroy()
    }
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
    const { port } = server.server.address() as { port: number }
    const service = await testService({
      env: { EMAIL_PROVIDER: 'smtp', SMTP_URL: `smtp://127.0.0.1:${port}?tls=off`, ...env },
    })
    return [service, await mailer(service), hangUp]
  }
  const accept: SMTPServerOptions['onData'] = (stream, _session, done) => {
    stream.resume()
    stream.on('end', () => done(null, 'Ok: queued as ABC123'))
  }

  test('S-075 X-047 a live send reaches the relay with its envelope, and a test send does not', async () => {
    const seen: string[] = []
    const [, own] = await withRelay({
      onRcptTo: ({ address }, _session, done) => {
        seen.push(address)
        done()
      },
      onData: accept,
    })
    expect((await own.send(mail(), { key: own.test })).status).toBe(200)
    const reply = await own.send(mail({ cc: ['cy@example.com'], bcc: ['di@example.com'] }))
    expect([reply.status, seen]).toEqual([200, ['ada@example.com', 'cy@example.com', 'di@example.com']])
    expect((await own.get(reply.body.id)).body.provider_response.message_id).toContain('ABC123')
  })

  test('S-111 a permanent refusal fails the message with the reply of the relay and is not counted', async () => {
    const [, own] = await withRelay({
      onMailFrom: (_address, _session, done) => {
        done(Object.assign(new Error('We do not know you'), { responseCode: 550 }))
      },
    })
    const reply = await own.send(mail())
    expect([reply.status, reply.body.error.code]).toEqual([500, 'INTERNAL_ERROR'])
    const shown = (await own.get(reply.body.error.message_id)).body
    expect([shown.status, shown.error_message]).toEqual(['failed', expect.stringContaining('We do not know you')])
    expect(await own.used()).toEqual({})
  })

  test.each(['refuse', 'queue'])(
    'SD-37 R-20 a connection lost after the message was transmitted fails it, counts it and does not retry it (%s)',
    async (onProviderOutage) => {
      let transmitted = 0
      const [, own, hangUp] = await withRelay(
        {
          onData: (stream) => {
            stream.resume()
            stream.on('end', () => {
              transmitted++
              hangUp()
            })
          },
        },
        { ON_PROVIDER_OUTAGE: onProviderOutage },
      )
      const reply = await own.send(mail())
      expect([reply.status, (await own.get(reply.body.error.message_id)).body.status]).toEqual([500, 'failed'])
      expect(await own.used()).toMatchObject({ 'org live email': 1 })
      expect(transmitted).toBe(1)
    },
  )
})

test('S-114 SD-39 batch items that have not started within 300 seconds are not sent', { timeout: 60_000 }, async () => {
  const own = await mailer(t)
  const slow = mail({ to: [simulator('slow')] })
  // More items than are sent at the same time. The fast first one shows that the call has started.
  const calling = own.batch([mail(), ...new Array(79).fill(slow)])
  await expect.poll(async () => (await own.traces()).messages.length).toBeGreaterThan(0)
  await advance(t, 301)
  const { body } = await calling
  const late = (body.data as Item[]).filter(({ status }) => status === 'failed')
  expect(late.length).toBeGreaterThan(0)
  for (const { id, error } of late) {
    expect([id, error]).toEqual([
      null,
      { code: 'PROVIDER_ERROR', message: expect.stringMatching(/reached its time limit/i) },
    ])
  }
  expect(body).toMatchObject({ total: 80, succeeded: 80 - late.length, failed: late.length })
  const traces = await own.traces()
  expect([traces.messages.length, traces.events.length, traces.outbox]).toEqual(new Array(3).fill(body.succeeded))
  expect(traces.used).toMatchObject({ 'org live email': body.succeeded, 'key live email': body.succeeded })
})

describe('an Idempotency-Key', () => {
  const once = (key: string) => ({ headers: { 'idempotency-key': key } })

  test('S-015 S-019 a repeated send returns the recorded response and sends nothing', async () => {
    const own = await mailer(t)
    const first = await own.send(mail(), once('one'))
    const again = await own.send(mail(), once('one'))
    expect([again.status, again.text, again.headers['idempotent-replayed']]).toEqual([200, first.text, 'true'])
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expectRefusal(await own.send(mail({ subject: 'Other' }), once('one')), 'IDEMPOTENCY_MISMATCH')
    const scheduled_at = new Date(t.service.clock.millis() + 3_600_000).toISOString()
    const [later, replay] = [
      await own.send(mail({ scheduled_at }), once('later')),
      await own.send(mail({ scheduled_at }), once('later')),
    ]
    expect([later.body.status, replay.text]).toEqual(['scheduled', later.text])
    expect(await own.traces()).toMatchObject({
      messages: ['sent', 'scheduled'],
      events: ['message.sent'],
      outbox: 1,
    })
    expect((await own.traces()).audited).toHaveLength(2)
  })

  test('S-019 S-021 a repeated batch returns the recorded result of each item, including failures', async () => {
    const own = await mailer(t)
    const body = [mail(), {}, mail({ to: [refused] })]
    const first = await own.batch(body, once('many'))
    const again = await own.batch(body, once('many'))
    expect([again.status, again.text, again.headers['idempotent-replayed']]).toEqual([200, first.text, 'true'])
    expect(await own.traces()).toMatchObject({
      messages: ['sent', 'failed'],
      outbox: 1,
      used: { 'org live email': 1 },
    })
    expectRefusal(await own.send(mail(), once('many')), 'IDEMPOTENCY_MISMATCH')
  })

  test('can be used again after a failure of any kind', async () => {
    const own = await mailer(t)
    expect((await own.send(mail({ to: [refused] }), once('free'))).status).toBe(500)
    await own.suppress('gone@example.com')
    expect((await own.send(mail({ to: ['gone@example.com'] }), once('free'))).status).toBe(422)
    expect((await own.send(mail(), once('free'))).status).toBe(200)
  })

  test('X-212 20 concurrent requests with the same key send one message', { timeout: 60_000 }, async () => {
    for (const way of ['send', 'batch'] as const) {
      const own = await mailer(t)
      const body = mail({ to: [simulator('slow')] })
      const replies = await Promise.all(Array.from({ length: 20 }, () => own[way](body, once('same'))))
      const fresh = replies.filter((r) => r.status === 200 && !r.headers['idempotent-replayed'])
      expect(fresh).toHaveLength(1)
      for (const reply of replies) {
        if (reply.status === 200) expect(reply.text).toBe(fresh[0]?.text)
        else expectRefusal(reply, 'IDEMPOTENCY_IN_FLIGHT')
      }
      expect(await own.traces()).toMatchObject({
        messages: ['sent'],
        outbox: 1,
        used: { 'org live email': 1 },
      })
    }
  })
})
