/** What becomes of a text message: simulator numbers, status tokens, faults of the provider and of the database. */
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { simulated, text, texter } from '../../../../test/clients/texter.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService, type TestService, testService } from '../../../../test/service/service.ts'
import { HandoverFault } from '../../../providers/handover.ts'

const lines: { fields: Record<string, unknown>; message: string }[] = []
const { silentLog } = await import('../../../platform/ground/log.ts')
const log = Object.assign(Object.create(silentLog()), {
  warn: (fields: Record<string, unknown>, message: string) => lines.push({ fields, message }),
})
const t = await startTestService({ log })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const to = '+15125550100'

describe('a status token', () => {
  type Rule = [token: string, status: string, event: string, suppressed: boolean]
  const rules: Rule[] = [
    ['DELIVERED', 'delivered', 'message.delivered', false],
    ['TEXT_SUCCESSFUL', 'delivered', 'message.delivered', false],
    ['BLOCKED', 'bounced', 'message.bounced', true],
    ['TEXT_OPTED_OUT', 'bounced', 'message.bounced', true],
    ['FAILURE', 'failed', 'message.failed', false],
    ['TEXT_TTL_EXPIRED', 'failed', 'message.failed', false],
    ['UNREACHABLE', 'failed', 'message.failed', false],
    ['TEXT_INVALID_MESSAGE', 'failed', 'message.failed', false],
    ['MMS_FILE_TYPE_UNSUPPORTED', 'failed', 'message.failed', false],
  ]

  test.for(rules)('S-245 R-42 %s on a sent message: %s', async ([token, status, event, suppressed]) => {
    const own = await texter(t)
    const { id } = (await own.send(text())).body
    const reply = await own.notify(id, token)
    expect([reply.status, reply.body]).toEqual([200, { message_id: id, outcome: token }])
    const shown = (await own.get(id)).body
    expect(shown).toMatchObject({ status, provider_response: { token } })
    expect(shown.error_message === null).toBe(status === 'delivered')
    expect(shown.status_history.at(-1)).toMatchObject({ status, recipient: to, detail: token })
    const events = await own.events()
    expect(events.map((fired) => fired.event)).toEqual(['message.sent', event])
    expect(events[1]?.data).toMatchObject({ message_id: id, channel: 'sms', status })
    const row = { channel: 'sms', value: to, reason: 'bounce', source: 'provider', tenant_id: null }
    expect(await own.suppressions()).toEqual(suppressed ? [row] : [])
    expect((await own.send(text())).status).toBe(suppressed ? 422 : 200)
  })

  test('S-252 R-42 of a message on its way changes nothing and is not logged', async () => {
    const own = await texter(t)
    const { id } = (await own.send(text())).body
    lines.length = 0
    for (const token of ['TEXT_PENDING', 'TEXT_QUEUED', 'MMS_PENDING', 'SENT', 'pending']) {
      const reply = await leavesNoTrace(() => own.notify(id, token))
      expect([reply.status, reply.body]).toEqual([200, { message_id: id, outcome: token }])
    }
    expect(lines).toEqual([])
  })

  test('S-253 R-42 that is unknown changes nothing and is logged', async () => {
    const own = await texter(t)
    const { id } = (await own.send(text())).body
    lines.length = 0
    for (const token of ['TEXT_EXPLODED', 'x']) {
      const reply = await leavesNoTrace(() => own.notify(id, token))
      expect([reply.status, reply.body]).toEqual([200, { message_id: id, outcome: token }])
    }
    expect(lines).toEqual(
      ['TEXT_EXPLODED', 'x'].map((token) => ({
        fields: { message_id: id, sms_status: token },
        message: 'unknown sms status token',
      })),
    )
  })

  test('R-42 needs a text message: an email takes only the four outcomes, and an unknown message is not found', async () => {
    const own = await texter(t)
    const mail = { from: 'hello@example.test', to: ['ada@example.com'], subject: 'Hello', text: 'Hello' }
    const { id } = (await t.ask('POST', '/api/v1/emails', { key: own.live, body: mail })).body
    const reply = await leavesNoTrace(() => own.notify(id, 'TEXT_DELIVERED'))
    expect([reply.status, reply.body.error.code, reply.body.error.errors[0].path]).toEqual([
      422,
      'VALIDATION_ERROR',
      ['outcome'],
    ])
    expectRefusal(await leavesNoTrace(() => own.notify('msg_nobody', 'TEXT_DELIVERED')), 'NOT_FOUND')
    for (const outcome of ['', 'x'.repeat(101)]) {
      expect((await leavesNoTrace(() => own.notify(id, outcome))).status).toBe(422)
    }
  })

  test('S-245 of a message that failed does not change it, and a delivered one cannot fail', async () => {
    const own = await texter(t)
    const failed = (await own.send(text())).body.id
    await own.notify(failed, 'FAILURE')
    await own.notify(failed, 'DELIVERED')
    const delivered = (await own.send(text())).body.id
    await own.notify(delivered, 'DELIVERED')
    await own.notify(delivered, 'FAILURE')
    expect((await own.get(failed)).body.status).toBe('failed')
    expect((await own.get(delivered)).body.status).toBe('delivered')
    const outcomes = (await own.events()).filter(({ event }) => event !== 'message.sent')
    expect(outcomes.map(({ event }) => event)).toEqual(['message.failed', 'message.delivered'])
  })
})

describe('simulator numbers', () => {
  const outcomes = { delivered: 'delivered', bounced: 'bounced', failed: 'failed' } as const

  test.for(['live', 'test'] as const)('SD-55 R-05 have their outcome in %s mode', async (environment) => {
    const own = await texter(t)
    const key = own[environment]
    for (const [name, status] of Object.entries(outcomes)) {
      const reply = await own.send(text({ to: simulated[name as keyof typeof simulated] }), { key })
      expect([reply.status, reply.body.status]).toEqual([200, 'sent'])
      await expect.poll(async () => (await own.get(reply.body.id, key)).body.status).toBe(status)
    }
    const fired = (await own.events()).filter(({ event }) => event !== 'message.sent')
    expect(fired.map((event) => [event.event, event.environment]).sort()).toEqual([
      ['message.bounced', environment],
      ['message.delivered', environment],
      ['message.failed', environment],
    ])
    // Test mode suppresses nobody.
    expect((await own.suppressions()).map(({ value }) => value)).toEqual(
      environment === 'live' ? [simulated.bounced] : [],
    )
  })

  test('R-35 R-42 the slow number is accepted after three seconds', async () => {
    const waits: number[] = []
    const { makeLocalSmsProvider } = await import('../../../providers/sms/local-sms.ts')
    const provider = makeLocalSmsProvider({
      outbox: t.service.modules.outbox,
      clock: t.service.clock,
      wait: async (ms) => waits.push(ms),
    })
    const own = await texter(t)
    const sms = {
      orgId: own.orgId,
      messageId: 'msg_x',
      from: 'TIDINGS',
      body: 'x',
      mediaUrl: [],
      dlt: null,
      messageType: 'transactional',
      at: t.service.clock.now(),
    } as const
    expect(await provider.send({ ...sms, to: simulated.slow })).toMatchObject({ provider: 'local' })
    expect(waits).toEqual([3_000])
    for (const number of ['5125550100', '+2101234567', simulated.refused]) {
      await expect(provider.send({ ...sms, to: number })).rejects.toMatchObject({ kind: 'refused' })
    }
  })
})

describe('when the suppressions cannot be read before the handover', () => {
  const handed: string[] = []
  beforeEach(() => {
    handed.length = 0
  })
  const smsProvider = {
    name: 'fake',
    send: async ({ messageId }: { messageId: string }) => {
      handed.push(messageId)
      return { provider: 'fake', providerMessageId: messageId }
    },
    close: async () => undefined,
  }

  /** While `work` runs, the look-up fails as if the server went away. */
  const withoutLookup = async <T>(db: TestService['service']['db'], work: () => Promise<T>): Promise<T> => {
    const rows = db.rows.bind(db) as (...args: unknown[]) => Promise<never[]>
    const fail = vi.spyOn(db, 'rows').mockImplementation((async (statement: { name: string }, params: unknown) => {
      if (statement.name !== 'suppressions.find_blocked') return rows(statement, params)
      throw Object.assign(new Error('terminating connection'), { code: '57P01' })
    }) as never)
    try {
      return await work()
    } finally {
      fail.mockRestore()
    }
  }

  test('X-305 a single send and a batch send nothing and count nothing', async () => {
    const service = await testService({ smsProvider })
    const own = await texter(service)
    const { single, batch } = await withoutLookup(service.service.db, async () => ({
      single: await own.send(text()),
      batch: await own.batch([text(), text({ to: '+15125550101' })]),
    }))
    expect([single.status, single.body.error.code]).toEqual([500, 'INTERNAL_ERROR'])
    expect(batch.body.data.map(({ status }: { status: string }) => status)).toEqual(['failed', 'failed'])
    expect([handed, (await own.traces()).used]).toEqual([[], {}])
    expect(await service.database.sql('select id from usage_reservations where org_id = $1', [own.orgId])).toEqual([])
    expect((await own.send(text())).status).toBe(200)
    expect((await own.traces()).used).toMatchObject({ 'org live sms': 1 })
  })

  test('a scheduled message waits, counts nothing meanwhile, and is sent once', async () => {
    const service = await testService({ smsProvider })
    const own = await texter(service)
    const { id } = (await own.send(text({ scheduled_at: own.inSeconds(60) }))).body
    await own.advance(61)
    await withoutLookup(service.service.db, () => own.fire())
    expect(await own.row(id)).toMatchObject({ status: 'scheduled', attempts: 1 })
    expect([handed, (await own.traces()).used]).toEqual([[], {}])
    await own.advance(61)
    await own.fire()
    expect([handed, await own.row(id)]).toMatchObject([[id], { status: 'sent' }])
    expect((await own.traces()).used).toMatchObject({ 'org live sms': 1 })
  })
})

describe('when the provider', () => {
  test('R-05 R-09 refuses, the send is 500 with the id of the failed message, and nothing is counted', async () => {
    const own = await texter(t)
    const reply = await own.send(text({ to: simulated.refused }))
    const { error } = reply.body
    expect([reply.status, error.code, error.message_id]).toEqual([
      500,
      'INTERNAL_ERROR',
      expect.stringMatching(/^msg_/),
    ])
    expect((await own.get(error.message_id)).body).toMatchObject({
      status: 'failed',
      error_message: 'Refused by the simulator',
      sent_at: null,
      segments: 1,
    })
    expect(await own.traces()).toEqual({ messages: ['failed'], events: [], audited: [], outbox: 0, used: {} })
    expect(await own.suppressions()).toEqual([])
  })

  test('R-20 is down for a moment, the send succeeds, and when the outcome is unknown it stays counted', async () => {
    const faults: HandoverFault[] = []
    let accepted = 0
    const own = await texter(
      await testService({
        smsProvider: {
          name: 'fake',
          send: async ({ messageId }) => {
            const fault = faults.shift()
            if (fault) throw fault
            accepted++
            return { provider: 'fake', providerMessageId: messageId }
          },
          close: async () => undefined,
        },
      }),
    )
    faults.push(new HandoverFault('unavailable', 'fake', 'Down'))
    expect((await own.send(text())).status).toBe(200)
    expect(accepted).toBe(1)
    faults.push(new HandoverFault('uncertain', 'fake', 'Lost'))
    const lost = await own.batch([text()])
    expect(lost.body.data[0]).toMatchObject({ status: 'failed', error: { code: 'PROVIDER_ERROR', message: 'Lost' } })
    expect(await own.used()).toMatchObject({ 'org live sms': 2 })
  })
})

test('S-200 X-296 an item that was sent but not stored is counted, fires nothing, and warns against a repetition', async () => {
  const own = await texter(t)
  await t.database.sql("alter table messages add constraint rejecting check (status <> 'sent') not valid")
  try {
    const reply = await own.batch([text()])
    expect(reply.body.data).toEqual([
      {
        index: 0,
        id: null,
        status: 'sent',
        error: {
          code: 'MESSAGE_NOT_RECORDED',
          message: 'Accepted by the provider but not stored. Do not send it again.',
        },
      },
    ])
  } finally {
    await t.database.sql('alter table messages drop constraint rejecting')
  }
  expect(await own.traces()).toMatchObject({ messages: [], events: [], used: { 'org live sms': 1 } })
})

test('S-184 X-305 the test allowance of the day is shared by both channels and separate from live usage', async () => {
  const own = await texter(t, { plan: 'free', sms: 1 })
  expect((await own.send(text(), { key: own.test })).status).toBe(200)
  await t.database.sql(
    "update usage_counters set used = 1000 where org_id = $1 and environment = 'test' and measure = 'messages'",
    [own.orgId],
  )
  expectRefusal(await leavesNoTrace(() => own.send(text(), { key: own.test })), 'TEST_DAILY_LIMIT')
  expect((await own.send(text())).status).toBe(200)
  expectRefusal(await leavesNoTrace(() => own.send(text())), 'USAGE_LIMIT_EXCEEDED')
})
