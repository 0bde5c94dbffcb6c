import PostalMime from 'postal-mime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { interrupt } from '../../../test/clients/interrupt.ts'
import { connectSmtp, mailer, outboxOf, startSubmissionService } from '../../../test/clients/submission-client.ts'
import { watchTables } from '../../../test/expect/refusal.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'

let t: Awaited<ReturnType<typeof startSubmissionService>>
let acme: CreatedOrg

beforeAll(async () => {
  t = await startSubmissionService()
  acme = await t.org()
})
afterAll(() => t.stop())

const get = async (id: string, key = acme.keys.live) =>
  (await t.ask('GET', `/api/v1/emails/${id}?include=body`, { key })).body

const plain = (to: string, more = {}) => ({
  from: 'Shop <shop@example.test>',
  to,
  subject: 'Your order',
  text: 'It is on its way.',
  ...more,
})

describe('a message over SMTP', () => {
  test('SD-26 is stored, shown and sent like a message over HTTP', async () => {
    const sent = await mailer(
      t.port,
      acme.keys.live,
    )({
      from: '"Shop, the" <shop@example.test>',
      to: 'Ada Lovelace <ada@example.com>, Grace <grace@example.com>',
      cc: 'cc@example.com',
      bcc: 'hidden@example.com',
      replyTo: 'help@example.test',
      subject: 'Grüße – your order',
      text: 'Ein Gruß.',
      html: '<p>Ein <b>Gruß</b>.</p>',
      attachments: [{ filename: 'r\u00e9ceipt.pdf', content: Buffer.from([0, 1, 2, 255]) }],
      headers: {
        'X-Order': '42',
        'X-Service-Tag': ['receipt', 'vip'],
        'X-Service-Stream': 'transactional',
        'X-Service-Track-Opens': 'true',
        'X-Service-Track-Clicks': 'false',
        'X-Service-Metadata-order_id': 'A-1',
        'X-Service-Unheard-Of': 'x',
        'Resent-Bcc': 'hidden@example.com',
      },
      inReplyTo: '<first@example.com>',
    })
    expect(sent).toMatchObject({ code: 250, response: `250 2.0.0 ${sent.id}` })

    const shown = await get(sent.id)
    expect(shown).toMatchObject({
      id: sent.id,
      channel: 'email',
      stream: 'transactional',
      from: 'shop@example.test',
      from_name: 'Shop, the',
      to: ['ada@example.com', 'grace@example.com'],
      cc: ['cc@example.com'],
      bcc: ['hidden@example.com'],
      reply_to: ['help@example.test'],
      subject: 'Grüße – your order',
      attachments: [{ filename: 'réceipt.pdf', content_type: 'application/pdf' }],
      track_opens: true,
      track_clicks: false,
      tags: ['receipt', 'vip'],
      metadata: { order_id: 'A-1' },
      tenant_id: null,
    })
    expect(shown.headers).toEqual({ 'X-Order': '42', 'In-Reply-To': '<first@example.com>' })
    expect(shown.text).toContain('Ein Gruß.')
    const list = await t.ask('GET', '/api/v1/emails?tag=vip', { key: acme.keys.live })
    expect(list.body.data.map((row: { id: string }) => row.id)).toEqual([sent.id])

    const [handed] = await outboxOf(t, 'ada@example.com')
    expect(handed).toMatchObject({
      message_id: sent.id,
      subject: 'Grüße – your order',
      bcc: ['hidden@example.com'],
    })
    const raw = String(handed?.raw)
    expect(raw).not.toMatch(/x-service-(?!message-id)|hidden@example\.com/i)
    expect(raw).toContain('AAEC/w==')

    const audit = await t.database.sql<{ user_agent: string; ip: string }>(
      "select user_agent, ip_address as ip from audit_entries where action = 'message.sent' and resource_id = $1",
      [sent.id],
    )
    expect(audit).toEqual([{ user_agent: expect.stringMatching(/^SMTP ./), ip: '127.0.0.1' }])
  })

  test('goes to the envelope recipients only, and those missing from To and Cc become Bcc', async () => {
    const sent = await mailer(
      t.port,
      acme.keys.live,
    )({
      ...plain('ignored@example.com'),
      to: 'List <list@example.com>, SEEN@example.com',
      envelope: { from: 'shop@example.test', to: ['seen@example.com', 'blind@example.com'] },
    })
    expect(await get(sent.id)).toMatchObject({ to: ['seen@example.com'], cc: [], bcc: ['blind@example.com'] })
    expect(await outboxOf(t, 'list@example.com')).toEqual([])
  })

  test('to one unlisted recipient shows that recipient in To', async () => {
    const sent = await mailer(
      t.port,
      acme.keys.live,
    )({
      ...plain('undisclosed@example.com'),
      envelope: { from: '', to: ['lone@example.com'] },
    })
    expect(await get(sent.id)).toMatchObject({ to: ['lone@example.com'], bcc: [] })
  })

  test('to several unlisted recipients is rejected', async () => {
    const sent = await mailer(
      t.port,
      acme.keys.live,
    )({
      ...plain('undisclosed@example.com'),
      envelope: { from: '', to: ['one@example.com', 'two@example.com'] },
    })
    expect(sent.response).toMatch(
      /^554 5\.6\.0 VALIDATION_ERROR to: Neither To nor Cc .* Send each recipient a separate message, .* \(req_\w+\)$/,
    )
  })

  test('keeps attachments unchanged, with the parameters of their type', async () => {
    const csv = Buffer.from('Stra\u00dfe\r\n1\r\n', 'latin1')
    const raw = Buffer.concat([
      Buffer.from(
        'From: shop@example.test\r\nTo: files@example.com\r\nSubject: Files\r\n' +
          'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nAttached.\r\n--b\r\n' +
          'Content-Type: text/csv; charset=iso-8859-1; header=present; name=s.csv\r\n' +
          'Content-Transfer-Encoding: 8bit\r\nContent-Disposition: attachment\r\n\r\n',
      ),
      csv,
      Buffer.from('\r\n--b--\r\n'),
    ])
    const envelope = { from: 'shop@example.test', to: ['files@example.com'] }
    const sent = await mailer(t.port, acme.keys.live)({ envelope, raw })
    const type = 'text/csv; charset=iso-8859-1; header=present'
    const shown = await get(sent.id)
    expect(shown).toMatchObject({
      text: 'Attached.',
      attachments: [{ filename: 's.csv', content_type: type }],
    })
    const [handed] = await outboxOf(t, 'files@example.com')
    const mail = await PostalMime.parse(String(handed?.raw))
    expect(Buffer.from(mail.attachments[0]?.content as ArrayBuffer)).toEqual(csv)
    expect(String(handed?.raw)).toMatch(/charset=iso-8859-1;\s+header=present/)
  })

  test('keeps inline images and invitations as what they are', async () => {
    const event = 'BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n'
    const sent = await mailer(
      t.port,
      acme.keys.live,
    )({
      ...plain('inline@example.com', { html: '<p><img src="cid:logo@shop"></p>' }),
      attachments: [{ filename: 'logo.png', content: Buffer.from('LOGO'), cid: 'logo@shop' }],
      icalEvent: { method: 'REQUEST', content: event },
    })
    expect(sent.code).toBe(250)
    const [handed] = await outboxOf(t, 'inline@example.com')
    const raw = String(handed?.raw)
    const types = [...raw.matchAll(/^Content-Type: ([\w/]+)/gm)].map(([, type]) => type)
    expect(types).toEqual([
      'multipart/mixed',
      'multipart/alternative',
      'text/plain',
      'multipart/related',
      'text/html',
      'image/png',
      'text/calendar',
      'application/ics',
    ])
    const { attachments, text } = await PostalMime.parse(raw)
    expect(attachments).toMatchObject([
      { filename: 'logo.png', disposition: 'inline', related: true, contentId: '<logo@shop>' },
      { mimeType: 'text/calendar', method: 'REQUEST' },
      { filename: 'invite.ics', mimeType: 'application/ics', disposition: 'attachment' },
    ])
    expect(text?.trim()).toBe('It is on its way.')
  })

  test('may have no text, and loses a header with invalid characters', async () => {
    const sent = await mailer(
      t.port,
      acme.keys.live,
    )({
      ...plain('scanned@example.com', { text: '' }),
      headers: { 'X-Proto': '=?utf-8?B?AAEC?=', 'X-Kept': 'yes' },
      attachments: [{ filename: 'scan.pdf', content: Buffer.from([0, 1, 2]) }],
    })
    expect(sent.code).toBe(250)
    expect(await get(sent.id)).toMatchObject({
      text: '\n',
      html: null,
      headers: { 'X-Kept': 'yes' },
      attachments: [{ filename: 'scan.pdf' }],
    })
    expect((await mailer(t.port, acme.keys.live)(plain('silent@example.com', { text: '' }))).code).toBe(250)
  })

  test('sent with a test key is simulated, and visible to test keys only', async () => {
    const sent = await mailer(t.port, acme.keys.test)(plain('delivered@simulator.tidings.test'))
    expect(sent.code).toBe(250)
    expect((await t.ask('GET', `/api/v1/emails/${sent.id}`, { key: acme.keys.live })).status).toBe(404)
    expect((await get(sent.id, acme.keys.test)).id).toBe(sent.id)
  })

  test('belongs to the tenant that its header names, which is created on first use', async () => {
    const named = { headers: { 'X-Service-Tenant-Ref': 'customer-7' } }
    const send = mailer(t.port, acme.keys.live)
    const [first, second] = [
      await send(plain('seven@example.com', named)),
      await mailer(t.port, acme.keys.live)(plain('seven@example.com', named)),
    ]
    const tenants = await t.database.sql<{ id: string }>(
      "select id from tenants where org_id = $1 and external_ref = 'customer-7'",
      [acme.org.id],
    )
    expect(tenants).toHaveLength(1)
    for (const { id } of [first, second]) expect((await get(id)).tenant_id).toBe(tenants[0]?.id)
  })

  test('sent with a tenant key is rejected when its header names a tenant', async () => {
    const tenantId = await t.tenant(acme.org.id, { ref: 'customer-8' })
    const tenantKey = await t.key(acme.org.id, { tenantId })
    const named = { headers: { 'X-Service-Tenant-Ref': 'customer-8' } }
    const sent = await mailer(t.port, tenantKey)(plain('eight@example.com', named))
    expect(sent.response).toMatch(/^550 5\.7\.1 TENANT_KEY_FORBIDDEN /)
  })

  test('is rejected when its header names a suspended tenant', async () => {
    await t.tenant(acme.org.id, { status: 'suspended', ref: 'gone' })
    const named = { headers: { 'X-Service-Tenant-Ref': 'gone' } }
    expect((await mailer(t.port, acme.keys.live)(plain('x@example.com', named))).response).toMatch(
      /^550 5\.7\.1 TENANT_NOT_USABLE /,
    )
  })

  test('XD-35 with a repeated idempotency key is sent once, and the reply has the id of the first', async () => {
    const keyed = (key: string, text = 'Once.') =>
      mailer(t.port, acme.keys.live)(plain('once@example.com', { text, headers: { 'X-Service-Idempotency-Key': key } }))
    const first = await keyed('order-1')
    const second = await keyed('order-1')
    expect([first.code, second.code, second.id]).toEqual([250, 250, first.id])
    expect(await outboxOf(t, 'once@example.com')).toHaveLength(1)
    expect((await keyed('order-1', 'Other.')).response).toMatch(/^554 5\.6\.0 IDEMPOTENCY_MISMATCH /)
    expect((await keyed('x'.repeat(256))).response).toMatch(/^554 5\.6\.0 VALIDATION_ERROR headers\.Idempotency-Key: /)
    const bare = { 'Idempotency-Key': 'order-2' }
    const [third, fourth] = [
      await mailer(t.port, acme.keys.live)(plain('bare@example.com', { headers: bare })),
      await mailer(t.port, acme.keys.live)(plain('bare@example.com', { headers: bare })),
    ]
    expect(fourth.id).toBe(third.id)
    expect(String((await outboxOf(t, 'bare@example.com'))[0]?.raw)).not.toMatch(/idempotency/i)
  })

  test('S-015 that is repeated after a crash is sent once, and the reply has the id of the first', async () => {
    const headers = { 'Idempotency-Key': 'crashed' }
    const again = () => mailer(t.port, acme.keys.live)(plain('crashed@example.com', { headers }))
    const first = await again()
    await interrupt(t, 'crashed')
    expect((await again()).response).toBe(first.response)
    expect(await outboxOf(t, 'crashed@example.com')).toHaveLength(1)
  })

  test('that is rejected releases its idempotency key', async () => {
    const headers = { 'Idempotency-Key': 'freed' }
    const from = (domain: string) => ({ ...plain('freed@example.com', { headers }), from: `a@${domain}` })
    expect((await mailer(t.port, acme.keys.live)(from('not-ours.test'))).code).toBe(553)
    expect((await mailer(t.port, acme.keys.live)(from('example.test'))).code).toBe(250)
  })

  test('that was handed over but not recorded gets a permanent error and keeps its idempotency key', async () => {
    const to = 'unrecorded@example.com'
    const submit = () =>
      mailer(t.port, acme.keys.live)(plain(to, { headers: { 'Idempotency-Key': 'accepted-not-recorded' } }))
    await t.database.sql(`alter table messages add constraint rejecting check (status <> 'sent') not valid`)
    const [first, second] = [await submit(), await submit()]
    await t.database.sql('alter table messages drop constraint rejecting')
    const third = await submit()
    expect(first.response).toMatch(
      /^554 5\.3\.0 INTERNAL_ERROR Accepted by the provider but not stored\. Do not send it again\. \(req_\w+\)$/,
    )
    for (const { response } of [second, third]) expect(response).toMatch(/^450 4\.7\.1 IDEMPOTENCY_IN_FLIGHT /)
    expect(await outboxOf(t, to)).toHaveLength(1)
    expect(await t.database.sql('select id from messages where to_addresses = $1', [[to]])).toEqual([])
  })
})

describe('a rejected message', () => {
  const rejections: [string, RegExp, () => object][] = [
    ['an unverified sender', /^553 5\.7\.1 SENDER_DOMAIN_NOT_VERIFIED /, () => ({ from: 'a@not-ours.test' })],
    [
      'two senders',
      /^554 5\.6\.0 VALIDATION_ERROR from: Must be one sender/,
      () => ({ from: ['a@example.test', 'b@example.test'] }),
    ],
    ['an unknown stream', /^554 5\.6\.0 VALIDATION_ERROR stream: /, () => ({ headers: { 'X-Service-Stream': 'x' } })],
    [
      'an invalid flag',
      /^554 5\.6\.0 VALIDATION_ERROR track_opens: /,
      () => ({ headers: { 'X-Service-Track-Opens': 'maybe' } }),
    ],
    [
      'eleven tags',
      /^554 5\.6\.0 VALIDATION_ERROR tags: /,
      () => ({ headers: { 'X-Service-Tag': Array.from({ length: 11 }, (_, i) => `t${i}`) } }),
    ],
    [
      'eleven attachments',
      /^554 5\.6\.0 VALIDATION_ERROR attachments: /,
      () => ({ attachments: Array.from({ length: 11 }, (_, i) => ({ filename: `${i}`, content: 'x' })) }),
    ],
    [
      'attachments beyond 7 MB',
      /^552 5\.3\.4 ATTACHMENT_TOO_LARGE /,
      () => ({ attachments: [{ filename: 'a.bin', content: Buffer.alloc(7 * 1_048_576 + 1) }] }),
    ],
    [
      'more than 100,000 links to track',
      /^552 5\.3\.4 PAYLOAD_TOO_LARGE The html has more than 100,000 links to track\. /,
      () => ({ html: '<a href=http://a>\n'.repeat(100_001), headers: { 'X-Service-Track-Clicks': 'true' } }),
    ],
    ['a NUL character', /^554 5\.6\.0 VALIDATION_ERROR text: /, () => ({ text: 'a\0b' })],
    [
      'an unsubscribe link in a transactional message',
      /^554 5\.6\.0 UNSUBSCRIBE_REQUIRES_BROADCAST /,
      () => ({ text: '{{unsubscribe_url}}' }),
    ],
  ]
  test.each(rejections)('with %s gets one reply and changes no table', async (_, reply, more) => {
    // The first use of a key is recorded, so use it before the tables are watched.
    await mailer(t.port, acme.keys.live)({ ...plain('seen@example.com'), from: 'a@not-ours.test' })
    const leavesNoTrace = await watchTables(t.database)
    const sent = await leavesNoTrace(() =>
      mailer(t.port, acme.keys.live)({ ...plain('refused@example.com'), ...more() }),
    )
    expect(sent.response).toMatch(reply)
  })

  test('to a suppressed recipient gets a permanent error', async () => {
    const org = await t.org()
    await t.ask('POST', '/api/v1/suppressions', {
      key: org.keys.live,
      body: { channel: 'email', value: 'gone@example.com', reason: 'manual' },
    })
    const domain = (
      await t.database.sql<{ name: string }>('select name from domains where org_id = $1', [org.org.id])
    )[0]
    const sent = await mailer(
      t.port,
      org.keys.live,
    )({
      ...plain('gone@example.com'),
      from: `a@${domain?.name}`,
    })
    expect(sent.response).toMatch(/^550 5\.7\.1 ALL_SUPPRESSED /)
  })

  test('over the rate limit gets a temporary error with the time to retry', async () => {
    const key = await t.key(acme.org.id, { ratePerMinute: 1 })
    expect((await mailer(t.port, key)(plain('rate@example.com'))).code).toBe(250)
    const second = await mailer(t.port, key)(plain('rate@example.com'))
    expect(second.response).toMatch(/^450 4\.7\.1 RATE_LIMITED .* Retry in \d+ s\. /)
    expect(await outboxOf(t, 'rate@example.com')).toHaveLength(1)
  })

  test('over the quota gets a temporary error with the time to retry', async () => {
    const tenantId = await t.tenant(acme.org.id, { ref: 'small' })
    const set = await t.ask('PATCH', `/api/v1/tenants/${tenantId}/quota`, {
      key: acme.keys.live,
      body: { email_monthly: 0 },
    })
    expect(set.status).toBe(200)
    const key = await t.key(acme.org.id, { tenantId })
    const sent = await mailer(t.port, key)(plain('quota@example.com'))
    expect(sent.response).toMatch(/^452 4\.7\.1 TENANT_QUOTA_EXCEEDED .* Retry in \d+ s\. /)
  })
})

describe('authentication', () => {
  const attempt = async (key: string): Promise<string> => {
    const { signIn, socket } = await connectSmtp(t.port)
    const reply = await signIn(key)
    socket.destroy()
    return reply
  }

  test('accepts an API key as the password and applies the same rules as HTTP requests', async () => {
    expect(await attempt(acme.keys.live)).toMatch(/^235 /)
    expect(await attempt('svc_live_nothing')).toMatch(/^535 5\.7\.8 UNAUTHORIZED .* \(req_\w+\)$/)
    expect(await attempt(await t.key(acme.org.id, { scopes: ['read:messages'] }))).toMatch(
      /^535 5\.7\.8 INSUFFICIENT_SCOPE /,
    )
    expect(await attempt(await t.key(acme.org.id, { allowedCidrs: ['203.0.113.0/24'] }))).toMatch(
      /^535 5\.7\.8 IP_NOT_ALLOWED /,
    )
    expect(await attempt(await t.key(acme.org.id, { expiresAt: new Date(0) }))).toMatch(/^535 5\.7\.8 UNAUTHORIZED /)
    const tenantId = await t.tenant(acme.org.id, { status: 'suspended' })
    expect(await attempt(await t.key(acme.org.id, { tenantId }))).toMatch(/^535 5\.7\.8 TENANT_SUSPENDED /)
    const other = await t.org()
    await t.database.sql('update orgs set suspended_at = created_at where id = $1', [other.org.id])
    expect(await attempt(other.keys.live)).toMatch(/^535 5\.7\.8 ORG_SUSPENDED /)
  })

  test('is required before MAIL FROM', async () => {
    const { command, socket } = await connectSmtp(t.port)
    expect(await command('MAIL FROM:<shop@example.test>')).toMatch(/^530 5\.7\.0 UNAUTHORIZED /)
    socket.destroy()
    expect((await mailer(t.port, undefined)(plain('x@example.com'))).code).toBe(530)
  })

  test('ends when the key is revoked, even on an open connection', async () => {
    const key = await t.key(acme.org.id)
    const { signIn, command, socket } = await connectSmtp(t.port)
    expect(await signIn(key)).toMatch(/^235 /)
    await t.database.sql('update api_keys set revoked_at = created_at where prefix = $1 and last_four = $2', [
      key.slice(0, 13),
      key.slice(-4),
    ])
    await expect
      .poll(async () => (await command('RSET')) && (await command('MAIL FROM:<shop@example.test>')))
      .toMatch(/^530 5\.7\.0 UNAUTHORIZED /)
    socket.destroy()
  })

  test('is checked again when the message has arrived', async () => {
    const key = await t.key(acme.org.id)
    const { signIn, command, socket } = await connectSmtp(t.port)
    await signIn(key)
    await command('MAIL FROM:<shop@example.test>')
    await command('RCPT TO:<late@example.com>')
    expect(await command('DATA')).toMatch(/^354 /)
    await t.database.sql('update api_keys set revoked_at = created_at where prefix = $1 and last_four = $2', [
      key.slice(0, 13),
      key.slice(-4),
    ])
    await expect.poll(async () => (await t.ask('GET', '/api/v1/emails', { key })).status).toBe(401)
    const reply = await command('From: shop@example.test\r\nSubject: Hi\r\n\r\nHello.\r\n.')
    expect(reply).toMatch(/^530 5\.7\.0 UNAUTHORIZED /)
    expect(await outboxOf(t, 'late@example.com')).toEqual([])
    socket.destroy()
  })
})

test('failed sign-ins are limited per connection and per address, and do not block valid keys', async () => {
  const guessed = await startSubmissionService()
  try {
    const org = await guessed.org()
    const replies: string[] = []
    for (let i = 0; i < 21; i++) {
      const { signIn, closed } = await connectSmtp(guessed.port)
      for (let j = 0; j < 5; j++) replies.push(await signIn(`svc_live_${i}_${j}`))
      await closed
    }
    expect(new Set(replies.slice(0, 100).map((reply) => reply.slice(0, 22)))).toEqual(
      new Set(['535 5.7.8 UNAUTHORIZED', '421 4.7.0 UNAUTHORIZED']),
    )
    expect(replies[4]).toMatch(/^421 /)
    expect(replies[100]).toMatch(/^454 4\.7\.0 RATE_LIMITED .* Retry in \d+ s\. /)
    const { signIn, socket } = await connectSmtp(guessed.port)
    expect(await signIn(org.keys.live)).toMatch(/^235 /)
    socket.destroy()
  } finally {
    await guessed.stop()
  }
})
