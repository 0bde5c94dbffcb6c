/** Many emails in one call: both shapes, each item's fate, one quota for all. */
import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { type Body, mail, mailer, simulator } from '../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

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
  test('S-112 needs the scope send:email', async () => {
    const key = await t.key(acme.orgId, { scopes: ['read:messages'] })
    expectRefusal(await leavesNoTrace(() => acme.batch([mail()], { key })), 'INSUFFICIENT_SCOPE')
    expectRefusal(await leavesNoTrace(() => acme.send(mail(), { key })), 'INSUFFICIENT_SCOPE')
    const sender = await t.key(acme.orgId, { scopes: ['send:email'] })
    expect((await acme.batch([mail()], { key: sender })).status).toBe(200)
    expectRefusal(await acme.list('', sender), 'INSUFFICIENT_SCOPE')
  })

  test('S-113 X-337 SD-38 takes 1 to 100 items or recipients', async () => {
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

  test('S-115 S-116 S-128 X-078 X-089 X-219 X-297 X-298 AD-96 SD-38 SD-39 each item has its own fate, in the order given', async () => {
    const own = await mailer(t)
    await own.suppress('gone@example.com')
    const body = [
      mail({ to: ['a@example.com', 'b@example.com'] }),
      { ...mail(), to: [] },
      mail({ to: ['gone@example.com'] }),
      mail({ from: 'x@nobodys.test' }),
      mail({ from: 'nodomain' }),
      mail({ to: ['gone@example.com', 'c@example.com'] }),
      'no item',
      mail({ subject: undefined }),
      mail({ text: '{{unsubscribe_url}}' }),
      mail({ text: '{{unsubscribe_url}}', stream: 'broadcast', cc: ['d@example.com'] }),
    ]
    const { result: reply, trail } = await withTrail(t.database, own.orgId, () => own.batch(body))
    const [first, , , , , sixth] = items(reply)
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
    expect(items(reply)[6]?.error?.message).not.toMatch(/^:/)
    expect((await own.handed(first?.id as string)).to).toEqual(['a@example.com', 'b@example.com'])
    expect((await own.handed(sixth?.id as string)).to).toEqual(['c@example.com'])
    expect(await own.traces()).toMatchObject({
      messages: ['sent', 'sent'],
      events: ['message.sent', 'message.sent'],
      outbox: 2,
      used: { 'org live email': 3, 'key live email': 3 },
    })
    expect(trail.map(({ action, resource_id, metadata }) => [action, resource_id, metadata])).toEqual([
      ['message.sent', null, expect.objectContaining({ channel: 'email', count: 2, environment: 'live' })],
    ])
  })

  test('X-161 SD-38 SD-39 an item without rows of errors is told all there is to tell in its message', async () => {
    const reply = await acme.batch([
      mail({ from: 'nodomain' }),
      mail({ from: 'a b@example.test' }),
      mail({ headers: { From: 'v' } }),
      mail({ text: undefined }),
      mail({ from: 'x@nobodys.test' }),
    ])
    expect(items(reply).map(({ error }) => error)).toEqual([
      { code: 'VALIDATION_ERROR', message: '"from" must be an email address with a domain.' },
      { code: 'VALIDATION_ERROR', message: 'from: Takes an email address, with or without a name.' },
      { code: 'VALIDATION_ERROR', message: 'headers.From: This header is for the service to write.' },
      { code: 'VALIDATION_ERROR', message: 'html: Takes html, text or both.' },
      { code: 'SENDER_NOT_VERIFIED', message: expect.not.stringContaining('see errors') },
    ])
  })

  test('S-130 a batch of nothing but refused items is a 200 that leaves nothing', async () => {
    const own = await mailer(t)
    await own.suppress('gone@example.com')
    const body = [{}, mail({ to: ['gone@example.com'] }), mail({ from: 'x@nobodys.test' })]
    const reply = await own.batch(body)
    expect([reply.status, codes(reply)]).toEqual([200, ['VALIDATION_ERROR', 'SUPPRESSED', 'SENDER_NOT_VERIFIED']])
    expect(reply.body).toMatchObject({ total: 3, succeeded: 0, failed: 3 })
    expect(await own.traces()).toEqual({ messages: [], events: [], audited: [], outbox: 0, used: {} })
  })

  test('S-117 S-118 stream is per item: headers, suppression and link follow it', async () => {
    await acme.suppress('left@example.com', 'unsubscribe')
    const reply = await acme.batch([
      mail({ to: ['left@example.com'] }),
      mail({ to: ['left@example.com'], stream: 'broadcast' }),
      mail({ stream: 'broadcast', text: '{{unsubscribe_url}}' }),
    ])
    expect(codes(reply)).toEqual(['sent', 'SUPPRESSED', 'sent'])
    const [plain, , broad] = items(reply)
    expect((await acme.handed(plain?.id as string)).headers).toEqual({})
    const kept = await acme.handed(broad?.id as string)
    expect(kept.headers['List-Unsubscribe']).toBe(`<${kept.text}>`)
  })

  test('S-126 S-127 S-329 X-206 SD-38 template, scheduled_at and overgrown variables fail the item, or the bulk call', async () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
    const wrong: Body[] = [
      { template: 'hi' },
      { scheduled_at: '2100-01-01T00:00:00Z' },
      { variables: { a: nested(11) } },
      { variables: { a: 'x'.repeat(65_536) } },
    ]
    const reply = await acme.batch([...wrong.map((more) => mail(more)), mail({ variables: { a: nested(10) } })])
    expect(codes(reply)).toEqual([...wrong.map(() => 'VALIDATION_ERROR'), 'sent'])
    for (const more of wrong) {
      const call = await leavesNoTrace(() => acme.batch(mail(more)))
      expect(call.body.error.errors[0].path[0]).toBe(Object.keys(more)[0])
    }
    await invalidCall(mail({ subject: undefined }), ['subject'])
    await invalidCall(mail({ from: undefined }), ['from'])
    await invalidCall(mail({ cc: ['a@b.test'] }), ['cc'])
    await invalidCall(mail({ bcc: ['a@b.test'] }), ['bcc'])
  })
})

describe('the bulk shape', () => {
  test('S-119 S-120 S-121 everyone gets an envelope, an id, a pixel and a link of their own', async () => {
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

  test('S-123 a suppressed recipient fails alone', async () => {
    await acme.suppress('nope@example.com', 'complaint')
    const reply = await acme.batch(mail({ to: ['a@example.com', 'nope@example.com', 'b@example.com'] }))
    expect(codes(reply)).toEqual(['sent', 'SUPPRESSED', 'sent'])
  })

  test('S-121 SD-40 a file by url must be https and public, else the call is refused before anything is sent', async () => {
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
  test('S-122 X-276 a batch that does not fit is refused whole; one that fits to the last is not', async () => {
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

  test('S-122 SD-37 what was set aside for items that were not sent is given back', async () => {
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

  test('S-122 of two batches at once that fit only one by one, one is sent and the other refused whole', async () => {
    const own = await mailer(t, { email: 10 })
    const replies = await Promise.all(Array.from({ length: 6 }, () => own.batch(new Array(7).fill(mail()))))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 429, 429, 429, 429, 429])
    expect(await own.traces()).toMatchObject({ outbox: 7, used: { 'org live email': 7 } })
  })
})
