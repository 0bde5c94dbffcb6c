/** Amazon SES notifications over HTTP, with real signatures. */
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { postOf } from '../../../../test/clients/post-client.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { selfSigned } from '../../../../test/providers/email.ts'
import { makeSns, sesEvent, topic } from '../../../../test/servers/sns.ts'
import { startTestService, testService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'
import { SnsNotFoundFault } from '../../../providers/email/sns.ts'

const path = '/api/webhooks/provider/email'
const sns = await makeSns()
const t = await startTestService({ ...sns.overrides, env: { SES_SNS_TOPICS: topic } })
afterAll(() => t.stop())
const acme = await t.org()
const orgId = acme.org.id
const post = postOf(t, acme)
const leavesNoTrace = await watchTables(t.database)

const deliver = (fields: unknown, contentType = 'text/plain; charset=UTF-8') =>
  t.ask('POST', path, { raw: JSON.stringify(fields), headers: { 'content-type': contentType } })
const notify = (event: unknown, changes = {}) => deliver(sns.signed(sns.notification(event, changes)))
const rejected = [403, { error: 'The signature is not valid' }]

const suppressions = () =>
  t.database.sql(
    'select value, reason, source, message_id, tenant_id from suppressions where org_id = $1 order by value',
    [orgId],
  )

describe('a notification signed by a configured topic', () => {
  test('S-241 R-04 SD-64 marks the message delivered, whatever its content type', async () => {
    for (const type of ['text/plain; charset=UTF-8', 'application/json', 'x-unknown/type']) {
      const messageId = await post.sent()
      const event = sesEvent({ orgId, messageId }, 'Delivery', ['ann@reader.test'])
      const reply = await deliver(sns.signed(sns.notification(event)), type)
      expect([reply.status, reply.body]).toEqual([200, { status: 'notification' }])
      expect((await post.row(messageId)).status).toBe('delivered')
    }
  })

  test('R-04 SD-61 is processed once, even if it arrives repeatedly or concurrently', async () => {
    const messageId = await post.sent({ to: ['twice@reader.test'] })
    const event = sesEvent({ orgId, messageId }, 'Bounce', ['twice@reader.test'])
    const body = sns.signed(sns.notification(event))
    const replies = await Promise.all(Array.from({ length: 8 }, () => deliver(body)))
    expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const first = await post.row(messageId)
    expect(first.history.map(({ status }) => status)).toEqual(['sent', 'bounced'])
    expect((await leavesNoTrace(() => deliver(body))).status).toBe(200)
    expect((await post.events(messageId)).map(({ event }) => event)).toEqual(['message.sent', 'message.bounced'])
    expect(await suppressions()).toEqual([
      {
        value: 'twice@reader.test',
        reason: 'bounce',
        source: 'provider',
        tenant_id: null,
        message_id: messageId,
      },
    ])
  })

  test('R-04 SD-61 is acknowledged without effect for unknown messages, other orgs and irrelevant events', async () => {
    const unknown = newId('message', Date.now() - 3_600_000)
    const stranger = { orgId: newId('org'), messageId: unknown }
    const messageId = await post.sent()
    const tables = ['messages', 'message_events', 'events', 'suppressions']
    const counts = () =>
      Promise.all(tables.map((table) => t.database.sql(`select count(*) from ${table} where org_id = $1`, [orgId])))
    const before = [await counts(), await post.row(messageId)]
    const ignored: unknown[] = [
      sesEvent(stranger, 'Bounce', ['ann@reader.test']),
      sesEvent({ orgId, messageId: unknown }, 'Complaint', ['ann@reader.test']),
      // A message of another org.
      sesEvent({ orgId: (await t.org()).org.id, messageId }, 'Complaint', ['ann@reader.test']),
      { ...sesEvent({ orgId, messageId }, 'Delivery', ['ann@reader.test']), eventType: 'Open' },
      { hello: 'there' },
      null,
      'not JSON',
    ]
    for (const event of ignored) {
      const reply = await notify(event)
      expect([reply.status, typeof reply.body.status]).toEqual([200, 'string'])
    }
    expect([await counts(), await post.row(messageId)]).toEqual(before)
  })

  test('SD-61 is not lost if it arrives before its message is recorded', async () => {
    const to = 'ahead@reader.test'
    const blocker = new pg.Client(t.database.url)
    await blocker.connect()
    await blocker.query('begin; lock table messages in share row exclusive mode')
    const sending = post.sent({ to: [to] })
    const sentMail = () =>
      t.database.sql<{ message_id: string }>(
        "select message_id from local_outbox where mail::jsonb -> 'recipients' ? $1",
        [to],
      )
    await vi.waitUntil(async () => (await sentMail()).length > 0)
    const [{ message_id: messageId } = { message_id: '' }] = await sentMail()
    const notified = notify(sesEvent({ orgId, messageId }, 'Delivery', [to]))
    await new Promise((resolve) => setTimeout(resolve, 200))
    await blocker.query('commit')
    await blocker.end()
    expect(await sending).toBe(messageId)
    expect((await notified).status).toBe(200)
    expect((await post.row(messageId)).status).toBe('delivered')
  })

  test('keeps diagnostic text, with characters that cannot be stored replaced', async () => {
    const messageId = await post.sent()
    const bouncedRecipients = [{ emailAddress: 'ann@reader.test', diagnosticCode: '550 \0 \ud800 gone' }]
    const event = sesEvent({ orgId, messageId }, 'Bounce', [], { bounceType: 'Transient', bouncedRecipients })
    expect((await notify(event)).status).toBe(200)
    expect((await post.row(messageId)).error_message).toBe('Soft bounce: 550 \ufffd \ufffd gone')
  })

  test('SD-64 confirms a subscription only for a configured topic', async () => {
    const reply = await deliver(sns.signed(sns.confirmation()))
    expect([reply.status, reply.body, sns.visited.length]).toEqual([200, { status: 'confirmed' }, 1])
    expect(sns.visited[0]).toContain('Action=ConfirmSubscription')
    const other = await deliver(sns.signed(sns.confirmation({ TopicArn: `${topic}-of-others` })))
    expect([other.status, other.body, sns.visited.length]).toEqual([...rejected, 1])
    const elsewhere = await deliver(sns.signed(sns.confirmation({ SubscribeURL: 'https://example.com/' })))
    expect([elsewhere.status, elsewhere.body, sns.visited.length]).toEqual([200, { status: 'ignored' }, 1])
  })
})

describe('any other request', () => {
  test('R-04 SD-64 returns 403 for an invalid or missing signature and has no effect', async () => {
    const messageId = await post.sent()
    const event = sesEvent({ orgId, messageId }, 'Bounce', ['ann@reader.test'])
    const good = sns.signed(sns.notification(event))
    const { Signature: _, ...unsigned } = good
    const stranger = await selfSigned('sns.amazonaws.com')
    const forged = [
      unsigned,
      { ...good, Signature: '' },
      { ...good, Signature: 'AAAA' },
      { ...good, Signature: `${good.Signature?.slice(0, -4)}AAAA` },
      { ...good, MessageId: 'another' },
      { ...good, Message: good.Message?.replace('Permanent', 'Transient') },
      { ...good, SignatureVersion: '3' },
      { ...good, SigningCertURL: 'https://example.com/a.pem' },
      { ...good, SigningCertURL: 'https://sns.eu-west-1.amazonaws.com.example.com/a.pem' },
      sns.signed(sns.notification(event), stranger),
      sns.signed(sns.notification(event, { TopicArn: `${topic}2` })),
    ]
    for (const [i, body] of forged.entries()) {
      const reply = await leavesNoTrace(() => deliver(body))
      expect([reply.status, reply.body], `forgery ${i}`).toEqual(rejected)
    }
    expect((await deliver(good)).status).toBe(200)
  })

  test('R-04 returns 403 for arbitrary bytes with any content type and has no effect', async () => {
    await leavesNoTrace(async () => {
      const types = ['application/json', 'text/plain', 'multipart/form-data; boundary=x', '', ';;;', 'a/b; charset=x']
      const bytes = fc.oneof(
        fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
        fc.json().map((text) => Buffer.from(text)),
        fc.constantFrom('', '{}', '[]', 'null', '{"Type":"Notification"}').map((text) => Buffer.from(text)),
      )
      await fc.assert(
        fc.asyncProperty(bytes, fc.constantFrom(...types), async (raw, type) => {
          const reply = await t.ask('POST', path, { raw, headers: { 'content-type': type } })
          expect([reply.status, reply.body]).toEqual(rejected)
        }),
        { numRuns: 150 },
      )
      expect((await t.ask('POST', path)).status).toBe(403)
    })
  })

  test('X-333 SD-64 is limited to 10 MB', async () => {
    const small = await t.ask('POST', path, { raw: Buffer.alloc(10 * 1_048_576, 32) })
    expect([small.status, small.body]).toEqual(rejected)
    const large = await leavesNoTrace(() => t.ask('POST', path, { raw: Buffer.alloc(10 * 1_048_576 + 1, 32) }))
    expectRefusal(large, 'PAYLOAD_TOO_LARGE', { message: 'The request body exceeds 10 MB. Send a smaller body.' })
  })

  test('R-04 returns 403 if SNS does not have the certificate, and UNAVAILABLE if it cannot be fetched', async () => {
    let failure: Error = new SnsNotFoundFault('SNS returned 404')
    const fetchCertificate = () => Promise.reject(failure)
    const other = await testService({ sns: { fetchCertificate }, env: { SES_SNS_TOPICS: topic } })
    const raw = JSON.stringify(sns.signed(sns.notification({})))
    const missing = await other.ask('POST', path, { raw })
    expect([missing.status, missing.body]).toEqual(rejected)
    failure = new Error('unreachable')
    const refused = await other.ask('POST', path, { raw })
    expectRefusal(refused, 'UNAVAILABLE', { message: 'The notification could not be processed. Send it again.' })
    expect(refused.headers['retry-after']).toBe('2')
  })
})
