/** Text messages from AWS and emails from SES, which arrive through signed SNS notifications. */
import { afterAll, describe, expect, test } from 'vitest'
import { domainClient } from '../../../../test/clients/domain-client.ts'
import { freshNumber, phoneClient } from '../../../../test/clients/phone-client.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { selfSigned } from '../../../../test/providers/email.ts'
import { makeSns } from '../../../../test/servers/sns.ts'
import { startTestService, testService } from '../../../../test/service/service.ts'

const paths = {
  sms: '/api/webhooks/provider/inbound-sms',
  email: '/api/webhooks/provider/inbound-email',
}
const topic = 'arn:aws:sns:eu-west-1:123456789012:inbound'
const sns = await makeSns()
const t = await startTestService({
  ...sns.overrides,
  env: { SMS_SNS_TOPICS: topic, SES_SNS_TOPICS: topic, RATE_LIMITER: 'off' },
})
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const deliver = (path: string, fields: unknown) => t.ask('POST', path, { raw: JSON.stringify(fields) })
const signed = (payload: unknown, changes = {}) =>
  sns.signed(sns.notification(payload, { TopicArn: topic, ...changes }))

let count = 0
const twoWay = (from: string, to: string, body: string, more: Record<string, unknown> = {}) => ({
  originationNumber: from,
  destinationNumber: to,
  messageKeyword: 'KEYWORD_1',
  messageBody: body,
  inboundMessageId: `aws-in-${++count}`,
  previousPublishedMessageId: 'aws-1',
  ...more,
})

describe('a text message', () => {
  test('S-254 S-263 R-04 that is an opt-out suppresses the number, with the time of the notification', async () => {
    const own = await phoneClient(t)
    const from = freshNumber()
    const at = '2026-01-05T10:00:00.000Z'
    const reply = await deliver(paths.sms, signed(twoWay(from, own.line, 'STOP'), { Timestamp: at }))
    expect([reply.status, reply.body]).toEqual([200, { status: 'notification' }])
    expect(await own.suppressed()).toMatchObject([{ value: from, reason: 'stop', source: 'sms_reply' }])
    expect((await own.inbound()).body.data).toMatchObject([{ from, to: own.line, body: 'STOP', received_at: at }])
    expect((await own.inboundEvents()).map(({ event }) => event)).toEqual(['suppression.created'])
  })

  test('R-04 is processed once, even if SNS publishes it again under another id', async () => {
    const own = await phoneClient(t)
    const payload = twoWay(freshNumber(), own.line, 'Hello')
    const body = signed(payload)
    const replies = await Promise.all(Array.from({ length: 6 }, () => deliver(paths.sms, body)))
    expect(replies.map(({ status }) => status)).toEqual(Array(6).fill(200))
    expect((await leavesNoTrace(() => deliver(paths.sms, signed(payload)))).status).toBe(200)
    expect((await own.inbound()).body.data).toHaveLength(1)
    expect(await own.inboundEvents()).toHaveLength(1)
  })

  test('with characters that the database cannot store is stored without them', async () => {
    const own = await phoneClient(t)
    await deliver(paths.sms, signed(twoWay(freshNumber(), own.line, 'a\0b\ud800c')))
    expect((await own.inbound()).body.data).toMatchObject([{ body: 'a\ufffdb\ufffdc' }])
    expect((await own.inboundEvents())[0]?.data.body).toBe('a\ufffdb\ufffdc')
  })

  test('to a number that nobody has, or of another form, is acknowledged without effect', async () => {
    const own = await phoneClient(t)
    const payloads = [
      twoWay(freshNumber(), freshNumber(), 'STOP'),
      { eventType: 'TEXT_DELIVERED', destinationPhoneNumber: own.line },
      { originationNumber: freshNumber() },
      'STOP',
      null,
      twoWay('x'.repeat(101), own.line, 'STOP'),
    ]
    await leavesNoTrace(async () => {
      for (const payload of payloads) {
        const reply = await deliver(paths.sms, signed(payload))
        expect([reply.status, reply.body], JSON.stringify(payload).slice(0, 80)).toEqual([200, { status: 'ignored' }])
      }
    })
  })

  test('R-04 without a valid signature is refused, and nothing is stored', async () => {
    const own = await phoneClient(t)
    const stop = () => twoWay(freshNumber(), own.line, 'STOP')
    const stranger = await selfSigned('sns.amazonaws.com')
    const tampered = signed(stop())
    const forged = [
      sns.signed(sns.notification(stop(), { TopicArn: topic }), stranger),
      signed(stop(), { TopicArn: `${topic}-2` }),
      signed(stop(), { SigningCertURL: 'https://sns.eu-west-1.amazonaws.com.example.com/a.pem' }),
      { ...tampered, Message: JSON.stringify(stop()) },
      stop(),
    ]
    await leavesNoTrace(async () => {
      for (const fields of forged) {
        const reply = await deliver(paths.sms, fields)
        expect([reply.status, reply.body]).toEqual([403, { error: 'The signature is not valid' }])
      }
    })
  })

  test('X-360 R-40 is counted before its signature is checked: 600 per minute and source', async () => {
    const limited = await testService({ ...sns.overrides, env: { SMS_SNS_TOPICS: topic } })
    const own = await phoneClient(limited)
    const send = (fields: unknown) => limited.ask('POST', paths.sms, { raw: JSON.stringify(fields) })
    const valid = () => send(signed(twoWay(freshNumber(), own.line, 'Hello')))
    expect((await valid()).status).toBe(200)
    const replies = await Promise.all(Array.from({ length: 599 }, () => send({})))
    expect(replies.filter(({ status }) => status === 403)).toHaveLength(599)
    expectRefusal(await valid(), 'RATE_LIMITED')
    expect((await own.inbound()).body.data).toHaveLength(1)
  })

  test('R-04 a subscription is confirmed for a listed topic', async () => {
    const reply = await deliver(paths.sms, sns.signed(sns.confirmation({ TopicArn: topic })))
    expect([reply.status, reply.body]).toEqual([200, { status: 'confirmed' }])
    expect(sns.visited.at(-1)).toContain('ConfirmSubscription')
  })
})

const raw = [
  'From: Ann <Ann@Reader.test>',
  'To: Help <help@inbox.test>, other@elsewhere.test',
  'Subject: =?utf-8?q?A_question_=E2=9C=93?=',
  'Message-ID: <q-1@reader.test>',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Hello?',
].join('\r\n')

const received = (recipients: string[], more: Record<string, unknown> = {}) => ({
  notificationType: 'Received',
  mail: {
    timestamp: '2026-01-05T10:00:00.000Z',
    messageId: 'ses-in-1',
    source: 'ann@reader.test',
    destination: recipients,
    commonHeaders: {
      from: ['Ann <ann@reader.test>'],
      to: recipients,
      subject: 'Known to SES',
      messageId: '<s@reader.test>',
    },
  },
  receipt: {
    timestamp: '2026-01-05T10:00:01.000Z',
    recipients,
    spamVerdict: { status: 'PASS' },
    virusVerdict: { status: 'PASS' },
    action: { type: 'SNS', topicArn: topic, encoding: 'UTF8' },
  },
  content: raw,
  ...more,
})

describe('an email', () => {
  let domains = 0
  const withDomain = async () => {
    const own = await phoneClient(t)
    const name = `in${++domains}.inbox.test`
    await domainClient(t, own).added(name, own.live, { inbound: true })
    await t.ask('POST', '/api/dev/run', { body: { task: 'domains' } })
    return { own, to: `help@${name}` }
  }

  test('X-114 R-04 at a verified inbound domain is stored and fires inbound.email', async () => {
    const { own, to } = await withDomain()
    const reply = await deliver(paths.email, signed(received([to], { content: raw.replace('help@inbox.test', to) })))
    expect([reply.status, reply.body]).toEqual([200, { status: 'notification' }])
    const [stored] = (await own.inbound()).body.data
    expect(stored).toEqual({
      id: expect.stringMatching(/^iem_[0-9a-z]{26}$/),
      channel: 'email',
      from: 'ann@reader.test',
      to: [to, 'other@elsewhere.test'],
      subject: 'A question ✓',
      text: 'Hello?',
      html: null,
      attachments: [],
      kind: 'reply',
      in_reply_to: null,
      tenant_id: null,
      received_at: '2026-01-05T10:00:01.000Z',
      created_at: expect.any(String),
    })
    expect(await own.inboundEvents()).toMatchObject([
      { event: 'domain.verified' },
      {
        event: 'inbound.email',
        environment: 'live',
        data: { id: stored.id, message_id: '<q-1@reader.test>', spam_verdict: 'pass', cc: [] },
      },
    ])
  })

  test('R-04 in base64 is decoded, and a repetition changes nothing', async () => {
    const { own, to } = await withDomain()
    const receipt = { ...received([to]).receipt, action: { type: 'SNS', encoding: 'BASE64' } }
    const payload = received([to], { receipt, content: Buffer.from(raw).toString('base64') })
    for (let i = 0; i < 3; i++) expect((await deliver(paths.email, signed(payload))).status).toBe(200)
    expect((await own.inbound()).body.data).toMatchObject([{ text: 'Hello?' }])
  })

  test.each([
    ['that a rule stored elsewhere', undefined],
    ['that cannot be read', `Content-Type: multipart/mixed; boundary=x\r\n\r\nno part`],
  ])('X-114 %s is stored with the headers that SES read', async (_, content) => {
    const { own, to } = await withDomain()
    expect((await deliver(paths.email, signed(received([to], { content })))).status).toBe(200)
    expect((await own.inbound()).body.data).toMatchObject([
      { from: 'ann@reader.test', to: [to], subject: 'Known to SES', text: null, html: null, attachments: [] },
    ])
  })

  test('to an unknown domain, or another notification of SES, is acknowledged without effect', async () => {
    await leavesNoTrace(async () => {
      for (const payload of [
        received(['help@nobody.test']),
        { ...received(['x@y.test']), notificationType: 'Bounce' },
        {},
      ]) {
        const reply = await deliver(paths.email, signed(payload))
        expect([reply.status, reply.body]).toEqual([200, { status: 'ignored' }])
      }
    })
  })
})
