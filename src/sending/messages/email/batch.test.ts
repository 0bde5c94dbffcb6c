/** Sending many emails in one call: the array and the bulk shape, the result of each item, and the shared quota. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TrailEntry, withTrail } from '../../../../test/audit/trail.ts'
import { type Body, type Mailer, mail, mailer, simulator } from '../../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await mailer(t)
const leavesNoTrace = await watchTables(t.database)

type Item = {
  index: number
  id: string | null
  status: string
  error: { code: string; message: string } | null
}
const items = (reply: { body: { data: Item[] } }): Item[] => reply.body.data
const codes = (reply: { body: { data: Item[] } }) => items(reply).map(({ error }) => error?.code ?? 'sent')
const refusedItem = (index: number, code: string, id: string | null = null) => ({
  index,
  id,
  status: 'failed',
  error: { code, message: expect.any(String) },
})

const invalidCall = async (body: unknown, path: (string | number)[]) => {
  const reply = await leavesNoTrace(() => acme.batch(body))
  const errors = [{ path, code: expect.any(String), message: expect.any(String) }]
  expectRefusal(reply, 'VALIDATION_ERROR', { errors }, JSON.stringify(body).slice(0, 100))
}

describe('the call', () => {
  test('S-112 requires the scope send:email', async () => {
    const key = await t.key(acme.orgId, { scopes: ['read:messages'] })
    expectRefusal(await leavesNoTrace(() => acme.batch([mail()], { key })), 'INSUFFICIENT_SCOPE')
    expectRefusal(await leavesNoTrace(() => acme.send(mail(), { key })), 'INSUFFICIENT_SCOPE')
    const sender = await t.key(acme.orgId, { scopes: ['send:email'] })
    expect((await acme.batch([mail()], { key: sender })).status).toBe(200)
    expectRefusal(await acme.list('', sender), 'INSUFFICIENT_SCOPE')
  })

  test('S-113 X-337 SD-38 accepts 1 to 100 items or recipients', async () => {
    await invalidCall([], [])
    await invalidCall(new Array(101).fill(mail()), [])
    await invalidCall(mail({ to: [] }), ['to'])
    await invalidCall(mail({ to: Array.from({ length: 101 }, (_, i) => `a${i}@b.test`) }), ['to'])
    for (const body of ['text', 7, null]) {
      const reply = await leavesNoTrace(() => acme.batch(body))
      expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
    }
    const full = await acme.batch(new Array(100).fill(mail()))
    expect(full.body).toMatchObject({ total: 100, succeeded: 100, failed: 0 })
    const bulk = await acme.batch(mail({ to: Array.from({ length: 100 }, (_, i) => `a${i}@b.test`) }))
    expect(bulk.body).toMatchObject({ total: 100, succeeded: 100, failed: 0 })
  })

  describe('with valid and invalid items', () => {
    let own: Mailer
    let reply: Reply
    let trail: TrailEntry[]

    beforeAll(async () => {
      own = await mailer(t)
      await own.suppress('gone@example.com')
      const body = [
        mail({ to: ['a@example.com', 'b@example.com'] }),
        { ...mail(), to: [] },
        mail({ to: ['gone@example.com'] }),
        mail({ from: 'x@nobodys.test' }),
        mail({ from: 'nodomain' }),
        mail({ to: ['gone@example.com', 'c@example.com'] }),
        'not an object',
        mail({ subject: undefined }),
        mail({ text: '{{unsubscribe_url}}' }),
        mail({ text: '{{unsubscribe_url}}', stream: 'broadcast', cc: ['d@example.com'] }),
      ]
      const audited = await withTrail(t.database, own.orgId, () => own.batch(body))
      reply = audited.result
      trail = audited.trail
    })

    test('S-115 SD-38 SD-39 returns one result per item, in the order of the request', () => {
      expect([reply.status, reply.body]).toEqual([
        200,
        {
          data: [
            { index: 0, id: expect.stringMatching(/^msg_/), status: 'sent', error: null },
            refusedItem(1, 'VALIDATION_ERROR'),
            refusedItem(2, 'SUPPRESSED'),
            refusedItem(3, 'SENDER_NOT_VERIFIED'),
            refusedItem(4, 'VALIDATION_ERROR'),
            { index: 5, id: expect.stringMatching(/^msg_/), status: 'sent', error: null },
            refusedItem(6, 'VALIDATION_ERROR'),
            refusedItem(7, 'VALIDATION_ERROR'),
            refusedItem(8, 'UNSUBSCRIBE_REQUIRES_BROADCAST'),
            refusedItem(9, 'UNSUBSCRIBE_MULTI_RECIPIENT'),
          ],
          total: 10,
          succeeded: 2,
          failed: 8,
        },
      ])
    })

    test('X-219 X-297 X-298 gives each rejected item its own error code and sends the others', () => {
      expect(codes(reply)).toEqual([
        'sent',
        'VALIDATION_ERROR',
        'SUPPRESSED',
        'SENDER_NOT_VERIFIED',
        'VALIDATION_ERROR',
        'sent',
        'VALIDATION_ERROR',
        'VALIDATION_ERROR',
        'UNSUBSCRIBE_REQUIRES_BROADCAST',
        'UNSUBSCRIBE_MULTI_RECIPIENT',
      ])
      expect(items(reply)[6]?.error?.message).not.toMatch(/^:/)
    })

    test('S-116 SD-38 sends each item to its own To list, without suppressed recipients', async () => {
      const [first, , , , , sixth] = items(reply)
      expect((await own.handed(first?.id as string)).to).toEqual(['a@example.com', 'b@example.com'])
      expect((await own.handed(sixth?.id as string)).to).toEqual(['c@example.com'])
    })

    test('S-128 X-078 X-089 stores, counts and fires message.sent for the sent items only', async () => {
      expect(await own.traces()).toMatchObject({
        messages: ['sent', 'sent'],
        events: ['message.sent', 'message.sent'],
        outbox: 2,
        used: { 'org live email': 3, 'key live email': 3 },
      })
    })

    test('AD-96 writes one audit entry with the number of sent items', () => {
      expect(trail.map(({ action, resource_id, metadata }) => [action, resource_id, metadata])).toEqual([
        ['message.sent', null, expect.objectContaining({ channel: 'email', count: 2, environment: 'live' })],
      ])
    })
  })

  test('X-161 SD-38 SD-39 the error message of an item contains the field and the reason', async () => {
    const reply = await acme.batch([
      mail({ from: 'nodomain' }),
      mail({ from: 'a b@example.test' }),
      mail({ headers: { From: 'v' } }),
      mail({ text: undefined }),
      mail({ from: 'x@nobodys.test' }),
    ])
    expect(items(reply).map(({ error }) => error)).toEqual([
      { code: 'VALIDATION_ERROR', message: '"from" must be an email address with a domain.' },
      { code: 'VALIDATION_ERROR', message: 'from: Must be an email address, with or without a display name.' },
      { code: 'VALIDATION_ERROR', message: 'headers.From: This header is set by the service. Remove it.' },
      { code: 'VALIDATION_ERROR', message: 'html: Provide html, text or both.' },
      { code: 'SENDER_NOT_VERIFIED', message: expect.not.stringContaining('see errors') },
    ])
  })

  test('S-130 a batch whose items are all rejected returns 200 and stores nothing', async () => {
    const own = await mailer(t)
    await own.suppress('gone@example.com')
    const body = [{}, mail({ to: ['gone@example.com'] }), mail({ from: 'x@nobodys.test' })]
    const reply = await own.batch(body)
    expect([reply.status, codes(reply)]).toEqual([200, ['VALIDATION_ERROR', 'SUPPRESSED', 'SENDER_NOT_VERIFIED']])
    expect(reply.body).toMatchObject({ total: 3, succeeded: 0, failed: 3 })
    expect(await own.traces()).toEqual({ messages: [], events: [], audited: [], outbox: 0, used: {} })
  })

  test('S-117 S-118 each item has its own stream, with its suppressions, headers and unsubscribe link', async () => {
    await acme.suppress('left@example.com', 'unsubscribe')
    const reply = await acme.batch([
      mail({ to: ['left@example.com'] }),
      mail({ to: ['left@example.com'], stream: 'broadcast' }),
      mail({ stream: 'broadcast', text: '{{unsubscribe_url}}' }),
    ])
    expect(codes(reply)).toEqual(['sent', 'SUPPRESSED', 'sent'])
    const [transactional, , broadcast] = items(reply)
    expect((await acme.handed(transactional?.id as string)).headers).toEqual({})
    const kept = await acme.handed(broadcast?.id as string)
    expect(kept.headers['List-Unsubscribe']).toBe(`<${kept.text}>`)
  })

  const failsItemOrBulkCall = async (invalid: Body[], valid: Body): Promise<void> => {
    const reply = await acme.batch([...invalid, valid].map((more) => mail(more)))
    expect(codes(reply)).toEqual([...invalid.map(() => 'VALIDATION_ERROR'), 'sent'])
    for (const more of invalid) {
      const call = await leavesNoTrace(() => acme.batch(mail(more)))
      expect(call.body.error.errors[0].path[0]).toBe(Object.keys(more)[0])
    }
  }

  test('S-126 S-329 SD-38 template and scheduled_at fail the item of an array and the whole bulk call', () =>
    failsItemOrBulkCall([{ template: 'hi' }, { scheduled_at: '2100-01-01T00:00:00Z' }], {}))

  test('S-127 X-206 SD-38 variables that are too deep or too large fail the item, or the whole bulk call', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
    const invalid = [{ variables: { a: nested(11) } }, { variables: { a: 'x'.repeat(65_536) } }]
    return failsItemOrBulkCall(invalid, { variables: { a: nested(10) } })
  })

  test('SD-38 a bulk call without subject or from, or with cc or bcc, is rejected', async () => {
    await invalidCall(mail({ subject: undefined }), ['subject'])
    await invalidCall(mail({ from: undefined }), ['from'])
    await invalidCall(mail({ cc: ['a@b.test'] }), ['cc'])
    await invalidCall(mail({ bcc: ['a@b.test'] }), ['bcc'])
  })
})

describe('the bulk shape', () => {
  test('S-119 S-120 S-121 each recipient gets a separate message with its own id, tracking pixel and unsubscribe link', async () => {
    const own = await mailer(t)
    const reply = await own.batch({
      ...mail({ to: ['a@example.com', 'B <b@example.com>'], stream: 'broadcast', track_opens: true }),
      html: '<p>{{unsubscribe_url}}</p>',
      reply_to: ['r@example.com', 's@example.com'],
      tags: ['bulk'],
      attachments: [{ filename: 'a.txt', content: 'YQ==' }],
    })
    expect(reply.body).toMatchObject({ total: 2, succeeded: 2, failed: 0 })
    const kept = await Promise.all(items(reply).map(({ id }) => own.handed(id as string)))
    expect(kept.map(({ to, cc, bcc }) => [to, cc, bcc])).toEqual([
      [['a@example.com'], [], []],
      [['b@example.com'], [], []],
    ])
    const links = kept.map(({ headers }) => headers['List-Unsubscribe'])
    const pixels = kept.map(({ html }) => /\/t\/o\/[^"]+/.exec(html ?? '')?.[0])
    expect(new Set([...links, ...pixels]).size).toBe(4)
    for (const [i, { html, raw }] of kept.entries()) {
      expect(html).toContain(`<p>${links[i]?.slice(1, -1)}</p>`)
      expect(raw).toMatch(/^Reply-To: r@example.com, s@example.com\r$/m)
      expect(raw).toContain('a.txt')
    }
    expect(await own.traces()).toMatchObject({
      messages: ['sent', 'sent'],
      events: ['message.sent', 'message.sent'],
    })
  })

  test('S-123 a suppressed recipient does not affect the others', async () => {
    await acme.suppress('nope@example.com', 'complaint')
    const reply = await acme.batch(mail({ to: ['a@example.com', 'nope@example.com', 'b@example.com'] }))
    expect(codes(reply)).toEqual(['sent', 'SUPPRESSED', 'sent'])
  })

  test('S-121 SD-40 an attachment URL must be https and public, otherwise the call is rejected before anything is sent', async () => {
    const file = (url: string) => mail({ attachments: [{ filename: 'a', url }] })
    for (const url of ['http://example.com/a', 'ftp://example.com/a', 'nothing']) {
      await invalidCall(file(url), ['attachments', 0, 'url'])
    }
    for (const url of ['https://127.0.0.1/a', 'https://169.254.169.254/a', 'https://[::1]/', 'https://10.0.0.1/']) {
      await invalidCall(file(url), ['attachments', 0, 'url'])
    }
    const perItem = await acme.batch([file('https://example.com/a')])
    expect(codes(perItem)).toEqual(['VALIDATION_ERROR'])
  })
})

describe('the quota', () => {
  test('S-122 X-276 a batch that exceeds the quota is rejected as a whole, and one that uses it up exactly is sent', async () => {
    const own = await mailer(t, { email: 5 })
    const ask = (n: number) => own.batch(mail({ to: Array.from({ length: n }, (_, i) => `q${i}@example.com`) }))
    expect((await ask(6)).body.error.code).toBe('USAGE_LIMIT_EXCEEDED')
    const over = await leavesNoTrace(() => ask(6))
    expectRefusal(over, 'USAGE_LIMIT_EXCEEDED')
    expect(Number(over.headers['retry-after'])).toBeGreaterThan(0)
    expect((await ask(5)).body).toMatchObject({ succeeded: 5 })
    expectRefusal(await leavesNoTrace(() => ask(1)), 'USAGE_LIMIT_EXCEEDED')
    expectRefusal(await leavesNoTrace(() => own.send(mail())), 'USAGE_LIMIT_EXCEEDED')
  })

  test('S-122 SD-37 usage reserved for items that were not sent is released', async () => {
    const own = await mailer(t, { email: 4 })
    await own.suppress('gone@example.com')
    const body = [
      mail({ to: ['gone@example.com'] }),
      mail({ to: ['a@example.com', 'gone@example.com'] }),
      mail({ to: [simulator('refused')] }),
    ]
    const reply = await own.batch(body)
    expect(codes(reply)).toEqual(['SUPPRESSED', 'sent', 'PROVIDER_ERROR'])
    expect(await own.used()).toMatchObject({ 'org live email': 1, 'key live email': 1 })
    expect((await own.batch(new Array(3).fill(mail()))).body.succeeded).toBe(3)
  })

  test('S-122 when concurrent batches exceed the quota together, one is sent and the others are rejected as a whole', async () => {
    const own = await mailer(t, { email: 10 })
    const replies = await Promise.all(Array.from({ length: 6 }, () => own.batch(new Array(7).fill(mail()))))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 429, 429, 429, 429, 429])
    expect(await own.traces()).toMatchObject({ outbox: 7, used: { 'org live email': 7 } })
  })
})
