/** Notifications of Amazon SES, as they come in over HTTP with real signatures. */
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { makeSns, sesEvent, topic } from '../../../test/servers/sns.ts'
import { startTestService, testService } from '../../../test/service/service.ts'
import { newId } from '../../ground/ids.ts'
import { postOf } from '../../messages/harness.ts'
import { selfSigned } from '../../providers/email/harness.ts'
import { NotAtSns } from '../../providers/email/sns.ts'

const path = '/api/webhooks/provider/email'
const sns = await makeSns()
const t = await startTestService({ ...sns.overrides, env: { SES_SNS_TOPICS: topic } })
afterAll(() => t.stop())
const founded = await t.org()
const orgId = founded.org.id
const post = postOf(t, founded)
const leavesNoTrace = await watchTables(t.database)

const give = (fields: unknown, contentType = 'text/plain; charset=UTF-8') =>
  t.ask('POST', path, { raw: JSON.stringify(fields), headers: { 'content-type': contentType } })
const tell = (event: unknown, changes = {}) => give(sns.signed(sns.notification(event, changes)))
const refused = [403, { error: 'The signature does not hold' }]

const suppressions = () =>
  t.database.sql(
    'select value, reason, source, message_id, tenant_id from suppressions where org_id = $1 order by value',
    [orgId],
  )

describe('what is signed by a topic of ours', () => {
  test('S-241 R-04 SD-64 a delivery is taken in, whatever the body is called', async () => {
    for (const type of ['text/plain; charset=UTF-8', 'application/json', 'x-unheard/of']) {
      const messageId = await post.sent()
      const event = sesEvent({ orgId, messageId }, 'Delivery', ['ann@reader.test'])
      const reply = await give(sns.signed(sns.notification(event)), type)
      expect([reply.status, reply.body]).toEqual([200, { status: 'notification' }])
      expect((await post.row(messageId)).status).toBe('delivered')
    }
  })

  test('R-04 SD-61 the same notification twice, one after the other and at once, is one', async () => {
    const messageId = await post.sent({ to: ['twice@reader.test'] })
    const event = sesEvent({ orgId, messageId }, 'Bounce', ['twice@reader.test'])
    const body = sns.signed(sns.notification(event))
    const replies = await Promise.all(Array.from({ length: 8 }, () => give(body)))
    expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const first = await post.row(messageId)
    expect(first.history.map(({ status }) => status)).toEqual(['sent', 'bounced'])
    expect((await leavesNoTrace(() => give(body))).status).toBe(200)
    expect((await post.told(messageId)).map(({ event }) => event)).toEqual(['message.sent', 'message.bounced'])
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

  test('R-04 SD-61 messages nobody knows, mail that is not ours and news that change nothing are acknowledged', async () => {
    const unknown = newId('message', Date.now() - 3_600_000)
    const stranger = { orgId: newId('org'), messageId: unknown }
    const messageId = await post.sent()
    const tables = ['messages', 'message_events', 'events', 'suppressions']
    const counts = () =>
      Promise.all(tables.map((table) => t.database.sql(`select count(*) from ${table} where org_id = $1`, [orgId])))
    const before = [await counts(), await post.row(messageId)]
    const told: unknown[] = [
      sesEvent(stranger, 'Bounce', ['ann@reader.test']),
      sesEvent({ orgId, messageId: unknown }, 'Complaint', ['ann@reader.test']),
      // Somebody else's message under our name.
      sesEvent({ orgId: (await t.org()).org.id, messageId }, 'Complaint', ['ann@reader.test']),
      { ...sesEvent({ orgId, messageId }, 'Delivery', ['ann@reader.test']), eventType: 'Open' },
      { hello: 'there' },
      null,
      'no JSON of theirs',
    ]
    for (const event of told) {
      const reply = await tell(event)
      expect([reply.status, typeof reply.body.status]).toEqual([200, 'string'])
    }
    expect([await counts(), await post.row(messageId)]).toEqual(before)
  })

  test('SD-61 a report that comes before its message is recorded is not lost', async () => {
    const to = 'ahead@reader.test'
    const held = new pg.Client(t.database.url)
    await held.connect()
    await held.query('begin; lock table messages in share row exclusive mode')
    const sending = post.sent({ to: [to] })
    const kept = () =>
      t.database.sql<{ message_id: string }>(
        "select message_id from local_outbox where mail::jsonb -> 'recipients' ? $1",
        [to],
      )
    await vi.waitUntil(async () => (await kept()).length > 0)
    const [{ message_id: messageId } = { message_id: '' }] = await kept()
    const telling = tell(sesEvent({ orgId, messageId }, 'Delivery', [to]))
    await new Promise((resolve) => setTimeout(resolve, 200))
    await held.query('commit')
    await held.end()
    expect(await sending).toBe(messageId)
    expect((await telling).status).toBe(200)
    expect((await post.row(messageId)).status).toBe('delivered')
  })

  test('words of a remote server that no text column takes are kept as far as they can be', async () => {
    const messageId = await post.sent()
    const bouncedRecipients = [{ emailAddress: 'ann@reader.test', diagnosticCode: '550 \0 \ud800 gone' }]
    const event = sesEvent({ orgId, messageId }, 'Bounce', [], { bounceType: 'Transient', bouncedRecipients })
    expect((await tell(event)).status).toBe(200)
    expect((await post.row(messageId)).error_message).toBe('Soft bounce: 550 \ufffd \ufffd gone')
  })

  test('SD-64 a subscription is confirmed for a topic of ours only', async () => {
    const reply = await give(sns.signed(sns.confirmation()))
    expect([reply.status, reply.body, sns.visited.length]).toEqual([200, { status: 'confirmed' }, 1])
    expect(sns.visited[0]).toContain('Action=ConfirmSubscription')
    const other = await give(sns.signed(sns.confirmation({ TopicArn: `${topic}-of-others` })))
    expect([other.status, other.body, sns.visited.length]).toEqual([...refused, 1])
    const elsewhere = await give(sns.signed(sns.confirmation({ SubscribeURL: 'https://example.com/' })))
    expect([elsewhere.status, elsewhere.body, sns.visited.length]).toEqual([200, { status: 'ignored' }, 1])
  })
})

describe('what is not', () => {
  test('R-04 SD-64 a bad or missing signature is 403 and changes nothing', async () => {
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
      const reply = await leavesNoTrace(() => give(body))
      expect([reply.status, reply.body], `forgery ${i}`).toEqual(refused)
    }
    expect((await give(good)).status).toBe(200)
  })

  test('R-04 any bytes under any name are 403, and nothing changes', async () => {
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
          expect([reply.status, reply.body]).toEqual(refused)
        }),
        { numRuns: 150 },
      )
      expect((await t.ask('POST', path)).status).toBe(403)
    })
  })

  test('X-333 SD-64 a notification takes 10 MB and not a byte more', async () => {
    const small = await t.ask('POST', path, { raw: Buffer.alloc(10 * 1_048_576, 32) })
    expect([small.status, small.body]).toEqual(refused)
    const large = await leavesNoTrace(() => t.ask('POST', path, { raw: Buffer.alloc(10 * 1_048_576 + 1, 32) }))
    expectRefusal(large, 'PAYLOAD_TOO_LARGE')
  })

  test('R-04 a certificate that SNS does not have is 403; one that cannot be had just now is asked for again', async () => {
    let fault: Error = new NotAtSns('SNS answered 404')
    const fetchCertificate = () => Promise.reject(fault)
    const other = await testService({ sns: { fetchCertificate }, env: { SES_SNS_TOPICS: topic } })
    const raw = JSON.stringify(sns.signed(sns.notification({})))
    const missing = await other.ask('POST', path, { raw })
    expect([missing.status, missing.body]).toEqual(refused)
    fault = new Error('no way there')
    expectRefusal(await other.ask('POST', path, { raw }), 'UNAVAILABLE')
  })
})
