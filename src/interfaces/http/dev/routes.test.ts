import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testMail, to } from '../../../../test/providers/email.ts'
import { serveAlone } from '../../../../test/service/serve-alone.ts'
import { startTestService, type TestService, testService } from '../../../../test/service/service.ts'
import { movableClock } from '../../../platform/ground/clock.ts'
import { makeMailParser } from '../../submission/mail-parser.ts'
import { devRoutes } from './routes.ts'

let t: TestService
beforeAll(async () => {
  t = await startTestService()
})
afterAll(() => t.stop())

const production = {
  NODE_ENV: 'production',
  SERVICE_DOMAIN: 'tidings.example',
  EMAIL_PROVIDER: 'ses',
  BASE_URL: 'https://api.tidings.example',
  MASTER_KEY: randomBytes(32).toString('base64'),
}

describe('POST /api/dev/clock', () => {
  test('moves the clock forward only, and the offset survives a restart', async () => {
    const before = Date.now()
    const moved = await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 86_400 } })
    expect(moved.status).toBe(200)
    expect(Object.keys(moved.body)).toEqual(['now'])
    expect(Date.parse(moved.body.now)).toBeGreaterThanOrEqual(before + 86_400_000)
    for (const advance_seconds of [-1, '5', null, undefined, 1e18]) {
      expect((await t.ask('POST', '/api/dev/clock', { body: { advance_seconds } })).status).toBe(422)
    }
    const restarted = await startTestService({ database: t.database })
    expect(restarted.service.clock.millis()).toBeGreaterThanOrEqual(before + 86_400_000)
    await restarted.stop()
  })

  test('reset returns to the system time, also after a restart', async () => {
    const own = await testService()
    const ask = (body: unknown) => own.ask('POST', '/api/dev/clock', { body })
    await ask({ advance_seconds: 86_400 })
    for (const body of [{ reset: false }, { reset: 1 }, { reset: true, advance_seconds: 1 }, {}, null]) {
      expect((await ask(body)).status, JSON.stringify(body)).toBe(422)
    }
    expect(own.service.clock.millis()).toBeGreaterThan(Date.now() + 86_000_000)
    const before = Date.now()
    const { status, body } = await ask({ reset: true })
    expect([status, Object.keys(body)]).toEqual([200, ['now']])
    const restarted = await testService({ database: own.database })
    for (const now of [Date.parse(body.now), own.service.clock.millis(), restarted.service.clock.millis()]) {
      expect(now).toBeGreaterThanOrEqual(before)
      expect(now).toBeLessThanOrEqual(Date.now())
    }
  })
})

describe('POST /api/dev/run', () => {
  test('runs a task and returns its counts, and rejects an unknown task', async () => {
    const done = await t.ask('POST', '/api/dev/run', { body: { task: 'retention' } })
    expect([done.status, done.body]).toEqual([
      200,
      {
        task: 'retention',
        counts: {
          months_created: 9,
          months_dropped: 0,
          messages_deleted: 0,
          message_events_deleted: 0,
          idempotency_keys_deleted: 0,
          audit_entries_linked: 0,
          audit_entries_deleted: 0,
          tracking_marks_deleted: 0,
          tracking_windows_deleted: 0,
          webhook_deliveries_deleted: 0,
          webhook_secrets_dropped: 0,
          verifications_deleted: 0,
          verification_windows_deleted: 0,
          provider_notifications_deleted: 0,
          sms_receipts_deleted: 0,
          analytics_rows_deleted: 0,
          sign_in_rows_deleted: 0,
          invitations_deleted: 0,
          oauth_rows_deleted: 0,
          export_files_deleted: 0,
          health_probes_deleted: 0,
        },
      },
    ])
    const unknown = await t.ask('POST', '/api/dev/run', { body: { task: 'explode' } })
    expect([unknown.status, unknown.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
    expect((await t.ask('POST', '/api/dev/run', {})).status).toBe(422)
  })
})

describe('GET /api/dev/outbox', () => {
  test('lists the messages that the local provider sent, newest first, in the documented shape', async () => {
    const send = async (address: string) => {
      const mail = testMail({ to: to(address), headers: { 'X-Given': 'a' } })
      await t.service.modules.emailProvider.send(mail)
      return mail
    }
    await send('first@reader.test')
    // Two entries of one millisecond have no order, because the ids of the mails use another clock in between.
    await sleep(2)
    const mail = await send('Second@reader.test')
    const all = await t.ask('GET', '/api/dev/outbox?channel=&to=&limit=')
    expect(all.status).toBe(200)
    expect(Object.keys(all.body)).toEqual(['data'])
    const [newest, ...older] = all.body.data
    expect(newest).toEqual({
      id: expect.stringMatching(/^local_msg_/),
      channel: 'email',
      message_id: mail.messageId,
      verification_id: null,
      from: 'Acme <hello@example.test>',
      to: ['Second@reader.test'],
      cc: [],
      bcc: [],
      subject: 'A subject',
      html: '<p>Hi</p>',
      text: 'Hi',
      headers: { 'X-Given': 'a' },
      raw: expect.stringContaining(`\r\nMessage-ID: <${mail.messageId}@example.test>\r\n`),
      body: null,
      media_url: [],
      dlt: null,
      at: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect(older.map((entry: { to: string[] }) => entry.to)).toEqual([['first@reader.test']])
    const recipientsOf = async (query: string) =>
      (await t.ask('GET', `/api/dev/outbox?${query}`)).body.data.map((entry: { to: string[] }) => entry.to[0])
    expect(await recipientsOf('to=second@reader.test')).toEqual(['Second@reader.test'])
    expect(await recipientsOf('limit=1&channel=email')).toEqual(['Second@reader.test'])
    expect(await recipientsOf('channel=sms')).toEqual([])
    expect(await recipientsOf(`id=${older[0].id}`)).toEqual(['first@reader.test'])
    expect(await recipientsOf(`message_id=${mail.messageId}`)).toEqual(['Second@reader.test'])
    expect(await recipientsOf(`message_id=${mail.messageId}&id=${older[0].id}`)).toEqual([])
  })

  test.each(['channel=fax', 'limit=0', 'limit=1001', 'limit=-1', 'limit=a', 'limit=1&limit=2', 'to=%00', 'x=1'])(
    'rejects %s',
    async (query) => {
      const reply = await t.ask('GET', `/api/dev/outbox?${query}`)
      expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
    },
  )

  test('is available only to clients on this machine', async () => {
    const reply = await t.ask('GET', '/api/dev/outbox', { headers: { 'x-forwarded-for': '127.0.0.1' } })
    expect([reply.status, reply.body.error.code]).toEqual([404, 'NOT_FOUND'])
  })
})

describe('access to the dev tools', () => {
  test('a request through a proxy is rejected, even if the proxy is on this machine', async () => {
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip']) {
      const reply = await t.ask('POST', '/api/dev/run', {
        body: { task: 'retention' },
        headers: { [name]: '127.0.0.1' },
      })
      expect([reply.status, reply.body.error.code]).toEqual([404, 'NOT_FOUND'])
    }
  })

  test('a client that does not connect over loopback is rejected', async () => {
    let ran = 0
    const tasks = { retention: { cron: '* * * * *', run: async () => ({ ran: ++ran }) } }
    const routes = devRoutes({
      clock: movableClock(),
      tasks,
      readOutbox: async () => [],
      notify: async () => 'no message',
      keepOffset: async () => undefined,
      simulateDomain: async () => false,
      simulateRegistration: { accepts: () => false, set: async () => false },
      simulateDlt: { accepts: () => false, set: async () => false },
      takeSms: async () => ({ status: 'unknown number' }),
      takeEmail: async () => 'unknown domain',
      parser: makeMailParser(),
    })
    const app = serveAlone(routes)
    const from = (remoteAddress: string) =>
      app.inject({ method: 'POST', url: '/api/dev/run', payload: { task: 'retention' }, remoteAddress })
    for (const outside of ['203.0.113.9', '10.0.0.1', '192.168.1.1', '2001:db8::1', '::ffff:10.0.0.1']) {
      const refused = await from(outside)
      expect(refused.json().error.code, outside).toBe('NOT_FOUND')
    }
    expect(ran).toBe(0)
    for (const inside of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1']) {
      expect((await from(inside)).statusCode, inside).toBe(200)
    }
    await app.close()
  })

  test('in production and with DEV_TOOLS=off they do not exist, and the service uses the system clock', async () => {
    for (const env of [production, { DEV_TOOLS: 'off' }]) {
      const service = await startTestService({ database: t.database, env, config: { baseUrl: undefined } })
      const reply = await service.ask('POST', '/api/dev/run', { body: { task: 'retention' } })
      const ahead = service.service.clock.millis() - Date.now()
      await service.stop()
      expect([reply.status, reply.body.error.code]).toEqual([404, 'NOT_FOUND'])
      expect(Math.abs(ahead)).toBeLessThan(5_000)
    }
  })
})
