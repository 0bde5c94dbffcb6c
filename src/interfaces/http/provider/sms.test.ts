/** Events of AWS End User Messaging over HTTP, with real signatures. */
import { afterAll, describe, expect, test } from 'vitest'
import { smsClient } from '../../../../test/clients/sms-client.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { makeSns } from '../../../../test/servers/sns.ts'
import { openLogFile } from '../../../../test/service/log-file.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const path = '/api/webhooks/provider/sms'
const topic = 'arn:aws:sns:eu-west-1:123456789012:sms-events'
const emailTopic = 'arn:aws:sns:eu-west-1:123456789012:ses-events'
const sns = await makeSns()
const lines = await openLogFile()
const t = await startTestService({
  ...sns.overrides,
  log: lines.log,
  env: { SMS_SNS_TOPICS: topic, SES_SNS_TOPICS: emailTopic },
})
afterAll(async () => {
  await t.stop()
  await lines.remove()
})
const acme = await t.org()
const orgId = acme.org.id
const phone = smsClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const eventOf = (messageId: string, eventType: string, more: Record<string, unknown> = {}) => ({
  eventType,
  eventVersion: '1.0',
  eventTimestamp: Date.now(),
  isFinal: true,
  originationPhoneNumber: 'TIDINGS',
  destinationPhoneNumber: '07946000000',
  isoCountryCode: 'GB',
  messageId: 'aws-1',
  messageStatus: eventType.replace(/^(TEXT|MMS)_/, ''),
  context: { 'tidings-org': orgId, 'tidings-message': messageId },
  ...more,
})

const deliver = (fields: unknown) => t.ask('POST', path, { raw: JSON.stringify(fields) })
const signed = (event: unknown, changes = {}) => sns.signed(sns.notification(event, { TopicArn: topic, ...changes }))
const notify = (event: unknown, changes = {}) => deliver(signed(event, changes))

describe('an event signed by a configured topic', () => {
  test('S-246 R-04 marks the message delivered', async () => {
    const to = phone.number()
    const id = await phone.sent({ to })
    const reply = await notify(eventOf(id, 'TEXT_DELIVERED'))
    expect([reply.status, reply.body]).toEqual([200, { status: 'notification' }])
    const row = await phone.row(id)
    expect([row.status, row.provider_response]).toEqual([
      'delivered',
      expect.objectContaining({ token: 'TEXT_DELIVERED' }),
    ])
    expect(row.history.at(-1)).toMatchObject({ status: 'delivered', recipient: to })
    expect((await phone.events(id)).map(({ event }) => event)).toEqual(['message.sent', 'message.delivered'])
  })

  test('S-247 S-248 SD-65 bounces and suppresses the number that the message was sent to', async () => {
    const to = phone.number()
    const id = await phone.sent({ to })
    await notify(eventOf(id, 'TEXT_CARRIER_BLOCKED'))
    expect((await phone.row(id)).status).toBe('bounced')
    expect(await phone.suppressions()).toEqual([
      { value: to, channel: 'sms', reason: 'bounce', source: 'provider', message_id: id },
    ])
    expect((await phone.events(id)).map(({ event }) => event)).toEqual(['message.sent', 'message.bounced'])
  })

  test.each(['TEXT_UNREACHABLE', 'TEXT_TTL_EXPIRED', 'TEXT_INVALID_MESSAGE', 'MMS_FILE_SIZE_TOO_LARGE'])(
    'S-245 S-249 S-250 S-251 %s fails the message without a suppression',
    async (token) => {
      const before = await phone.suppressions()
      const id = await phone.sent()
      await notify(eventOf(id, token))
      const row = await phone.row(id)
      expect([row.status, row.error_message]).toEqual(['failed', `Not delivered: ${token}`])
      expect(await phone.suppressions()).toEqual(before)
      expect((await phone.events(id)).map(({ event }) => event)).toEqual(['message.sent', 'message.failed'])
    },
  )

  test('R-04 SD-61 is processed once, even if it arrives repeatedly or concurrently', async () => {
    const id = await phone.sent()
    const body = signed(eventOf(id, 'TEXT_SPAM'))
    const replies = await Promise.all(Array.from({ length: 8 }, () => deliver(body)))
    expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect((await phone.row(id)).history.map(({ status }) => status)).toEqual(['sent', 'bounced'])
    expect((await leavesNoTrace(() => deliver(body))).status).toBe(200)
  })

  test('S-252 is acknowledged without effect while the message is on its way', async () => {
    const id = await phone.sent()
    for (const token of ['TEXT_PENDING', 'TEXT_QUEUED', 'TEXT_SENT', 'MMS_PENDING']) {
      const reply = await leavesNoTrace(() => notify(eventOf(id, token)))
      expect([reply.status, reply.body]).toEqual([200, { status: 'ignored' }])
    }
  })

  test('S-253 is only logged, without a number, when its token is not known', async () => {
    const id = await phone.sent()
    for (const token of ['TEXT_UNKNOWN', 'TEXT_SOMETHING_NEW', 'sent to +447946000000']) {
      const reply = await leavesNoTrace(() => notify(eventOf(id, token)))
      expect([reply.status, reply.body]).toEqual([200, { status: 'ignored' }])
    }
    const logged = () => lines.lines('unknown sms status token')
    await expect
      .poll(async () =>
        (await logged()).map(({ sms_status, message_id, country }) => [sms_status, message_id, country]),
      )
      .toEqual([
        ['TEXT_UNKNOWN', id, 'GB'],
        ['TEXT_SOMETHING_NEW', id, 'GB'],
        ['not a token', id, 'GB'],
      ])
    expect(await lines.text()).not.toContain('7946000000')
  })

  test('SD-63 falls back to the status of the message when the type of the event is not known', async () => {
    const id = await phone.sent()
    await notify(eventOf(id, 'TEXT_ALL', { messageStatus: 'delivered' }))
    expect((await phone.row(id)).status).toBe('delivered')
  })

  test('R-04 SD-61 is acknowledged without effect for messages that are not ours, and for other content', async () => {
    const id = await phone.sent()
    const old = newId('message', Date.now() - 3_600_000)
    for (const event of [
      eventOf(id, 'TEXT_BLOCKED', { context: {} }),
      eventOf(id, 'TEXT_BLOCKED', { context: { 'tidings-org': 5, 'tidings-message': id } }),
      eventOf(id, 'TEXT_BLOCKED', { context: { 'tidings-org': orgId, 'tidings-message': 'msg_x' } }),
      { eventType: 5 },
      null,
      'not JSON',
    ]) {
      const reply = await leavesNoTrace(() => notify(event))
      expect([reply.status, reply.body]).toEqual([200, { status: 'ignored' }])
    }
    expect((await notify(eventOf(old, 'TEXT_BLOCKED'))).status).toBe(200)
    expect((await phone.row(id)).status).toBe('sent')
  })
})

test('R-04 An event that is not signed by a topic of SMS gets 403 and has no effect', async () => {
  const id = await phone.sent()
  const good = signed(eventOf(id, 'TEXT_BLOCKED'))
  for (const body of [
    { ...good, Message: JSON.stringify(eventOf(id, 'TEXT_DELIVERED')) },
    { ...good, Signature: 'AAAA' },
    { ...good, SigningCertURL: 'https://sns.eu-west-1.amazonaws.com.evil.test/a.pem' },
    signed(eventOf(id, 'TEXT_BLOCKED'), { TopicArn: emailTopic }),
    {},
  ]) {
    const reply = await leavesNoTrace(() => deliver(body))
    expect([reply.status, reply.body]).toEqual([403, { error: 'The signature is not valid' }])
  }
})

test('A subscription to a topic of SMS is confirmed', async () => {
  const reply = await deliver(sns.signed(sns.confirmation({ TopicArn: topic })))
  expect([reply.status, reply.body, sns.visited.length]).toEqual([200, { status: 'confirmed' }, 1])
})

describe('POST /api/dev/notify for an SMS', () => {
  test.each([
    ['text_delivered', 'delivered'],
    ['MMS_INVALID', 'bounced'],
    ['EXPIRED', 'failed'],
    ['hard_bounce', 'bounced'],
  ])('R-42 %s sets the status to %s', async (outcome, status) => {
    const id = await phone.sent()
    const reply = await phone.notify(id, outcome)
    expect([reply.status, reply.body]).toEqual([200, { message_id: id, outcome }])
    expect((await phone.row(id)).status).toBe(status)
  })

  test('R-42 S-253 accepts unknown and pending tokens, which change nothing', async () => {
    const id = await phone.sent()
    for (const outcome of ['TEXT_UNKNOWN', 'exploded', 'QUEUED']) {
      const reply = await leavesNoTrace(() => phone.notify(id, outcome))
      expect([reply.status, reply.body]).toEqual([200, { message_id: id, outcome }])
    }
    expect((await leavesNoTrace(() => phone.notify(id, ''))).status).toBe(422)
    expect((await leavesNoTrace(() => phone.notify(id, 'x'.repeat(101)))).status).toBe(422)
  })
})
