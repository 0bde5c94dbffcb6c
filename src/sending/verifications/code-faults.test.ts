/** Faults: the provider refuses a code, and the database is lost during a start or a check. */
import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { simulator } from '../../../test/clients/mailer.ts'
import { simulated } from '../../../test/clients/texter.ts'
import { verifier, wrong } from '../../../test/clients/verifier.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { withoutDatabase } from '../../../test/service/lost-database.ts'
import { startTestService, type TestService, testService } from '../../../test/service/service.ts'
import { HandoverFault } from '../../providers/handover.ts'
import type { Sms } from '../../providers/sms/sms-provider.ts'

const t = await startTestService()
afterAll(() => t.stop())

const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })

const notRecorded = {
  message: 'The request could not be recorded. Retry it; a code that was already sent remains valid.',
}

/** While `work` runs, a statement that writes to the table breaks its connection, as if the server went away. */
const whileLost = async <T>(service: TestService, when: string, work: () => Promise<T>): Promise<T> => {
  const { sql } = service.database
  await sql(`create or replace function cut() returns trigger language plpgsql as $$
    begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`)
  await sql(`create trigger cut before ${when} execute function cut()`)
  try {
    return await work()
  } finally {
    await sql(`drop trigger cut on ${when.split(' on ')[1]}`)
  }
}

describe('the provider', () => {
  test.each([
    ['sms', simulated.refused],
    ['email', simulator('refused')],
  ])(
    'S-056 X-165 X-274 when it refuses an %s code, the start is 502, nothing is billed and the key is free',
    async (channel, to) => {
      const own = await verifier(t)
      const start = () => (channel === 'sms' ? own.start({ to }, keyed('k')) : own.startEmail({ to }, keyed('k')))
      for (const _ of [1, 2]) {
        const reply = await start()
        expectRefusal(reply, 'SEND_FAILED')
        expect(reply.body.error.type).toBe('validation_error')
      }
      expect(await own.used()).toEqual({})
      expect(await own.count()).toBe(0)
      expect(await own.traces()).toMatchObject({ messages: [], events: [], audited: [] })
      expect((await own.start({}, keyed('k'))).status).toBe(201)
    },
  )

  test('X-274 an outage is retried and then 502; after an unconfirmed handover the code stays billed', async () => {
    let fault: HandoverFault | undefined
    const sent: Sms[] = []
    const smsProvider = {
      name: 'stub',
      send: async (sms: Sms) => {
        sent.push(sms)
        if (sent.length === 2) fault = undefined
        if (fault) throw fault
        return { provider: 'stub', providerMessageId: 'x' }
      },
      close: async () => undefined,
    }
    const service = await testService({ smsProvider })
    const own = await verifier(service)
    fault = new HandoverFault('unavailable', 'stub', 'down')
    expect((await own.start()).status).toBe(201)
    expect(sent).toHaveLength(2)
    expect(new Set(sent.map(({ messageId }) => messageId)).size).toBe(1)
    fault = new HandoverFault('uncertain', 'stub', 'lost')
    const before = sent.length
    expectRefusal(await own.start(), 'SEND_FAILED')
    expect(sent.length).toBe(before + 1)
    expect(await own.used()).toMatchObject({ 'org live sms': 2 })
    expect(await own.count()).toBe(1)
  })

  test('a reply that repeats the code does not bring it into the log or the response', async () => {
    const file = await openLogFile()
    let code = ''
    const smsProvider = {
      name: 'stub',
      send: async ({ body }: Sms) => {
        code = /\d+/.exec(body)?.[0] ?? ''
        throw new HandoverFault('refused', 'stub', `spam: ${body}`, { cause: new Error(body) })
      },
      close: async () => undefined,
    }
    const service = await testService({ smsProvider, log: file.log })
    const own = await verifier(service)
    const reply = await own.start({ code_length: 10 })
    expectRefusal(reply, 'SEND_FAILED')
    await expect.poll(() => file.lines('code handover failed')).toHaveLength(1)
    const [line] = await file.lines('code handover failed')
    expect(line).toMatchObject({ kind: 'refused', provider: 'stub', reason: 'spam: Your verification code is [code]' })
    expect(code).toMatch(/^\d{10}$/)
    expect(await file.text()).not.toContain(code)
    await file.remove()
  })

  test('SD-16 a destination that opts out while its code waits gets none, and nothing is billed', async () => {
    const own = await verifier(t)
    const to = own.newNumber()
    // The opt-out is stored between the admission of the start and the handover.
    await t.database.sql(`create function opt_out() returns trigger language plpgsql as $$ begin
      insert into suppressions (org_id, id, channel, value, reason, source, created_environment, created_at, updated_at)
      values (new.org_id, 'sup_x', 'sms', new.destination, 'stop', 'api', 'live', new.created_at, new.created_at);
      return new; end $$`)
    await t.database.sql('create trigger opt_out after insert on verifications for each row execute function opt_out()')
    try {
      expectRefusal(await own.start({ to }), 'UNDELIVERABLE_DESTINATION')
    } finally {
      await t.database.sql('drop trigger opt_out on verifications')
    }
    expect(await own.used()).toEqual({})
    expect(await own.count()).toBe(0)
  })
})

describe('the database', () => {
  test.each(['insert on verifications', 'insert on verification_windows', 'update on usage_counters'])(
    'S-073 X-272 SD-23 R-28 lost at %s, a start is 503, sends and spends nothing and frees its key',
    async (when) => {
      const own = await verifier(t)
      const to = own.newNumber()
      // The counters exist, so that they are updated.
      await own.started()
      const used = await own.used()
      const sent = (await own.codesSent()).length
      const reply = await whileLost(t, when, () => own.start({ to }, keyed('k')))
      expectRefusal(reply, 'UNAVAILABLE', notRecorded)
      expect(reply.body.error.type).toBe('validation_error')
      expect(await own.used()).toEqual(used)
      expect((await own.codesSent()).length).toBe(sent)
      expect(await own.count()).toBe(1)
      for (let i = 0; i < 5; i++) expect((await own.start({ to }, keyed(`k${i || ''}`))).status).toBe(201)
      expect((await own.start({ to })).status).toBe(429)
    },
  )

  test('S-073 X-273 R-28 lost during a check, the check is 503, spends no attempt, and the code still works', async () => {
    const own = await verifier(t)
    const id = await own.started({ max_attempts: 1 })
    const code = await own.code(id)
    for (const guess of [wrong(code), code]) {
      const reply = await whileLost(t, 'update on verifications', () => own.check(id, guess))
      expectRefusal(reply, 'UNAVAILABLE', notRecorded)
      expect(reply.body.error.type).toBe('validation_error')
    }
    expect(await own.stored(id)).toMatchObject({ attempts: 0, used_at: null })
    expect((await own.check(id, code)).body).toEqual({ id, status: 'approved' })
  })

  test('R-28 while it is down, both routes are 503, also at the look-up of the key, and a lost key is freed', async () => {
    const service = await testService()
    const own = await verifier(service)
    const id = await own.started()
    const code = await own.code(id)
    const neverSeen = await service.key(own.orgId)
    await withoutDatabase(service.database, async () => {
      for (const key of [own.live, neverSeen]) {
        expectRefusal(await own.start({}, { key, ...keyed('down') }), 'UNAVAILABLE', notRecorded)
        expectRefusal(await own.check(id, code, { key }), 'UNAVAILABLE', notRecorded)
        expectRefusal(await own.check(id, wrong(code), { key }), 'UNAVAILABLE', notRecorded)
      }
    })
    await expect.poll(async () => (await own.check(id, code)).body).toEqual({ id, status: 'approved' })
    await expect.poll(async () => (await own.start({}, keyed('down'))).status).toBe(201)
  }, 30_000)

  test('X-272 R-28 lost at the last look-up before the handover, a start is 503, and nothing is sent or billed', async () => {
    const own = await verifier(t)
    const { sql } = t.database
    await sql(`create function hide() returns trigger language plpgsql as $$
      begin alter table suppressions rename to hidden; return null; end $$`)
    await sql('create trigger hide after insert on verifications execute function hide()')
    const sent = (await own.codesSent()).length
    const reply = await own.start({}, keyed('k'))
    await sql('drop trigger hide on verifications')
    await sql('alter table hidden rename to suppressions')
    expectRefusal(reply, 'UNAVAILABLE', notRecorded)
    expect(await own.used()).toEqual({})
    expect(await own.count()).toBe(0)
    expect((await own.codesSent()).length).toBe(sent)
    expect((await own.start({}, keyed('k'))).status).toBe(201)
  })

  test('S-056 R-28 the key of a refused start is freed once the database is back', async () => {
    const own = await verifier(t)
    const to = simulated.refused
    const start = () => own.start({ to }, keyed('k'))
    await whileLost(t, 'delete on idempotency_keys', async () => {
      expectRefusal(await start(), 'SEND_FAILED')
      expectRefusal(await start(), 'IDEMPOTENCY_IN_FLIGHT')
    })
    await expect.poll(async () => (await start()).body.error.code).toBe('SEND_FAILED')
  }, 30_000)

  test('X-215 R-28 a lost lock store is 503, and in production 409', async () => {
    const own = await verifier(t)
    const reply = await whileLost(t, 'insert on idempotency_keys', () => own.start({}, keyed('lost')))
    expectRefusal(reply, 'UNAVAILABLE', notRecorded)
    expect(await own.count()).toBe(0)
    const service = await testService({
      env: {
        NODE_ENV: 'production',
        SERVICE_DOMAIN: 'tidings.example',
        MASTER_KEY: randomBytes(32).toString('base64'),
        EMAIL_PROVIDER: 'ses',
        BASE_URL: 'https://api.tidings.example',
      },
      config: { baseUrl: undefined },
    })
    const { keys } = await service.org()
    const body = { channel: 'email', to: 'ada@example.com', from: 'a@example.test' }
    const inProduction = await whileLost(service, 'insert on idempotency_keys', () =>
      service.ask('POST', '/api/v1/verifications', { key: keys.live, body, ...keyed('lost') }),
    )
    expectRefusal(inProduction, 'IDEMPOTENCY_IN_FLIGHT')
  })
})
