/** Sending one email immediately: the response, the validation, and the stored and sent message. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TrailEntry, withTrail } from '../../../../test/audit/trail.ts'
import { type Body, type Mailer, mail, mailer } from '../../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await mailer(t)
const leavesNoTrace = await watchTables(t.database)

const invalidAt = async (body: unknown, ...paths: (string | number)[][]) => {
  const reply = await leavesNoTrace(() => acme.send(body))
  const errors = paths.map((path) => ({ path, code: expect.any(String), message: expect.any(String) }))
  expectRefusal(reply, 'VALIDATION_ERROR', { errors }, JSON.stringify(body)?.slice(0, 200))
}
const sent = async (more: Body) => {
  const reply = await acme.send(mail(more))
  expect([reply.status, reply.body.status], reply.text).toEqual([200, 'sent'])
  return { id: reply.body.id as string, kept: await acme.handed(reply.body.id), reply }
}

describe('a send', () => {
  describe('that is accepted', () => {
    let own: Mailer
    let startedAt: number
    let reply: Reply
    let trail: TrailEntry[]

    beforeAll(async () => {
      own = await mailer(t)
      startedAt = t.service.clock.millis()
      const body = mail({ to: ['Ada <ada@example.com>', 'bob@example.com'], cc: ['cy@example.com'] })
      const audited = await withTrail(t.database, own.orgId, () => own.send(body))
      reply = audited.result
      trail = audited.trail
    })

    test('S-075 returns the id, channel, status and creation time', () => {
      const { created_at } = reply.body
      expect([reply.status, reply.body]).toEqual([
        200,
        {
          id: expect.stringMatching(/^msg_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
          channel: 'email',
          status: 'sent',
          created_at,
        },
      ])
      expect(Date.parse(created_at)).toBeGreaterThanOrEqual(startedAt)
    })

    test('A-167 AD-96 writes one audit entry', () => {
      expect(trail).toEqual([
        expect.objectContaining({
          action: 'message.sent',
          resource_type: 'message',
          resource_id: reply.body.id,
          actor_user_id: null,
          metadata: {
            channel: 'email',
            count: 1,
            environment: 'live',
            via: 'api_key',
            api_key_id: expect.stringMatching(/^key_/),
          },
        }),
      ])
    })

    test('X-077 fires message.sent once', async () => {
      expect(await own.events()).toEqual([
        {
          event: 'message.sent',
          environment: 'live',
          tenant_id: null,
          data: { message_id: reply.body.id, channel: 'email', status: 'sent' },
        },
      ])
    })

    test('S-128 SD-37 counts one unit per recipient', async () => {
      expect(await own.used()).toMatchObject({ 'org live email': 3, 'key live email': 3 })
    })

    test('S-075 is stored and handed to the provider once', async () => {
      const { id } = reply.body
      expect(await own.traces()).toMatchObject({ messages: ['sent'], outbox: 1 })
      expect(await own.handed(id)).toMatchObject({
        from: 'hello@example.test',
        to: ['ada@example.com', 'bob@example.com'],
        cc: ['cy@example.com'],
        bcc: [],
        subject: 'Hello',
        text: 'Hello, Ada',
        html: null,
      })
      const shown = await own.get(id)
      expect(shown.body.provider_response.message_id).toMatch(/^local_msg_/)
    })
  })

  test('S-086 SD-25 SD-28 cc, bcc, reply_to, headers and display names are sent, and bcc is not visible to the recipients', async () => {
    const { id, kept } = await sent({
      from: 'Acme <hello@example.test>',
      to: ['"Lovelace, Ada" <ada@example.com>'],
      cc: 'cy@example.com',
      bcc: ['di@example.com'],
      reply_to: ['Help <help@example.com>', 'x@example.com'],
      headers: { 'X-Order': '17', 'x-other': 'a: b' },
    })
    expect(kept).toMatchObject({
      cc: ['cy@example.com'],
      bcc: ['di@example.com'],
      from: 'Acme <hello@example.test>',
    })
    const raw = kept.raw as string
    expect(raw).toMatch(/^To: "Lovelace, Ada" <ada@example.com>\r$/m)
    expect(raw).toMatch(/^Cc: cy@example.com\r$/m)
    expect(raw).toMatch(/^Reply-To: Help <help@example.com>, x@example.com\r$/m)
    expect(raw).toMatch(/^X-Order: 17\r$/m)
    expect(raw).toMatch(/^x-other: a: b\r$/im)
    expect(raw).not.toContain('di@example.com')
    const shown = (await acme.get(id)).body
    expect(shown).toMatchObject({
      from: 'hello@example.test',
      from_name: 'Acme',
      to: ['ada@example.com'],
      cc: ['cy@example.com'],
      bcc: ['di@example.com'],
      reply_to: ['help@example.com', 'x@example.com'],
      headers: { 'X-Order': '17', 'x-other': 'a: b' },
    })
  })

  test('a duplicate recipient gets one message and is counted once', async () => {
    const own = await mailer(t)
    const reply = await own.send(mail({ to: ['ada@example.com', 'Ada@Example.com'], cc: ['ADA@example.com'] }))
    expect(await own.handed(reply.body.id)).toMatchObject({ to: ['ada@example.com'], cc: [] })
    expect((await own.used())['org live email']).toBe(1)
  })

  test('S-080 S-081 S-088 SD-27 stream, tracking, tags and metadata are stored, and default to transactional, off and empty', async () => {
    const plain = await sent({})
    const full = await sent({
      stream: 'broadcast',
      track_opens: true,
      track_clicks: true,
      html: '<a href="https://x.test/">x</a>',
      tags: ['a', 'b'],
      metadata: { order: '17' },
    })
    expect((await acme.get(plain.id)).body).toMatchObject({
      stream: 'transactional',
      track_opens: false,
      track_clicks: false,
      tags: [],
      metadata: {},
    })
    expect((await acme.get(full.id)).body).toMatchObject({
      stream: 'broadcast',
      track_opens: true,
      track_clicks: true,
      tags: ['a', 'b'],
      metadata: { order: '17' },
    })
    expect(full.kept.html).toMatch(/href="[^"]+\/t\/c\/[^"]+"/)
    expect(full.kept.html).toMatch(/<img[^>]+\/t\/o\//)
  })

  test('S-079 SD-30 the content is html, text or both', async () => {
    const { kept: html } = await sent({ text: undefined, html: '<p>Hi</p>' })
    const { kept: both } = await sent({ html: '<p>Hi</p>' })
    expect([html.html, html.text, both.html, both.text]).toEqual(['<p>Hi</p>', null, '<p>Hi</p>', 'Hello, Ada'])
  })

  test('SD-34 placeholders in subject, html and text of the request are sent unchanged', async () => {
    const { kept } = await sent({ subject: 'Hi {{name}}', text: '{{name}} {{#if x}}', html: '{{ name }}' })
    expect(kept).toMatchObject({ subject: 'Hi {{name}}', text: '{{name}} {{#if x}}', html: '{{ name }}' })
  })

  test('S-082 S-140 SD-31 attachments are sent, and only their names and types are stored', async () => {
    const secret = 'the bytes of the file'
    const content = Buffer.from(secret).toString('base64')
    const { id, kept } = await sent({
      attachments: [
        { filename: 'a.txt', content, content_type: 'text/plain; charset=utf-8' },
        { filename: 'b.pdf', content },
        { filename: 'Ünï "c"', content },
      ],
    })
    expect(kept.raw?.split(content).length).toBe(4)
    expect((await acme.get(id)).body.attachments).toEqual([
      { filename: 'a.txt', content_type: 'text/plain; charset=utf-8' },
      { filename: 'b.pdf', content_type: 'application/pdf' },
      { filename: 'Ünï "c"', content_type: 'application/octet-stream' },
    ])
    const [row] = await t.database.sql<{ all: string }>('select m::text as all from messages m where id = $1', [id])
    expect(row?.all).not.toContain(secret)
    expect(row?.all).not.toContain(content)
  })
})

describe('a template', () => {
  const make = (body: Body) => t.ask('POST', '/api/v1/templates', { key: acme.live, body })

  test('S-084 supplies each field that the request leaves out', async () => {
    await make({
      slug: 'hi',
      channel: 'email',
      subject: 'Hi {{name}}',
      html: '<b>{{name}}</b>',
      text: '{{name}}!',
    })
    const base = { subject: undefined, text: undefined, template: 'hi', variables: { name: '<Ada>' } }
    const { kept } = await sent(base)
    expect(kept).toMatchObject({ subject: 'Hi <Ada>', html: '<b>&lt;Ada&gt;</b>', text: '<Ada>!' })
    const { kept: mixed } = await sent({ ...base, subject: 'Mine {{name}}' })
    expect(mixed).toMatchObject({ subject: 'Mine {{name}}', text: '<Ada>!' })
  })

  test('X-205 X-232 X-234 is rejected when it is unknown, lacks variables, or belongs to a tenant', async () => {
    const base = mail({ subject: undefined, text: undefined })
    await invalidAt({ ...base, template: 'nowhere' }, ['template'])
    await make({ slug: 'needs', channel: 'email', subject: '{{a}}', text: '{{b.c}}' })
    const reply = await leavesNoTrace(() => acme.send({ ...base, template: 'needs', variables: {} }))
    const errors = ['a', 'b.c'].map((name) => ({
      path: ['variables', name],
      code: 'required',
      message: 'Required.',
    }))
    expectRefusal(reply, 'TEMPLATE_MISSING_VARIABLES', { errors })
    const tenantId = await t.tenant(acme.orgId)
    const key = await t.key(acme.orgId, { tenantId })
    const body = { slug: 'tenants', channel: 'email', subject: 'x', text: 'x' }
    expect((await t.ask('POST', '/api/v1/templates', { key, body })).status).toBe(201)
    expectRefusal(await leavesNoTrace(() => acme.send({ ...base, template: 'tenants' })), 'TEMPLATE_TENANT_SCOPED')
    expect((await acme.send({ ...base, template: 'tenants' }, { key })).status).toBe(200)
  })

  test('S-109 X-229 X-346 that exceeds a rendering limit sends nothing', async () => {
    await make({ slug: 'loop', channel: 'email', subject: 'x', text: '{{#each xs}}.{{/each}}' })
    const ask = (n: number) =>
      acme.send(mail({ text: undefined, template: 'loop', variables: { xs: new Array(n).fill(0) } }))
    expect((await ask(5_000)).status).toBe(200)
    const message = 'The loops of the template run more than 5,000 times.'
    expectRefusal(await leavesNoTrace(() => ask(5_001)), 'PAYLOAD_TOO_LARGE', { message })
  })

  test('SD-30 that renders to an empty subject or text is rejected', async () => {
    await make({ slug: 'void', channel: 'email', subject: '{{s}}', text: '{{t}}' })
    const ask = (variables: Body) => mail({ subject: undefined, text: undefined, template: 'void', variables })
    await invalidAt(ask({ s: '', t: 'x' }), ['subject'])
    await invalidAt(ask({ s: 'x', t: '' }), ['template'])
  })
})

describe('an invalid request is rejected with the path of each error:', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
  const manyKeys = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`:${i}`, 0]))
  const cases: [rule: string, body: unknown, ...paths: (string | number)[][]][] = [
    ['S-076 from is required', mail({ from: undefined }), ['from']],
    ['S-078 X-336 to is required', mail({ to: undefined }), ['to']],
    ['S-078 X-336 to has at least one address', mail({ to: [] }), ['to']],
    ['S-078 X-336 to has at most 50 addresses', mail({ to: new Array(51).fill('a@b.test') }), ['to']],
    ['S-078 SD-25 to must be a list', mail({ to: 'a@b.test' }), ['to']],
    ['S-078 to contains only addresses', mail({ to: ['a@b.test', 'nobody'] }), ['to', 1]],
    [
      'SD-28 an address has at most 320 characters',
      mail({ to: [`a@${`${'b'.repeat(60)}.`.repeat(6)}test`] }),
      ['to', 0],
    ],
    ['SD-25 cc has at most 50 addresses', mail({ cc: new Array(51).fill('a@b.test') }), ['cc']],
    ['SD-25 reply_to has at most 10 addresses', mail({ reply_to: new Array(11).fill('a@b.test') }), ['reply_to']],
    ['S-079 X-204 subject is required', mail({ subject: undefined }), ['subject']],
    ['S-079 an empty subject', mail({ subject: '' }), ['subject']],
    ['a subject with a line break', mail({ subject: 'a\r\nBcc: x@y.test' }), ['subject']],
    ['SD-30 no content', mail({ text: undefined }), ['html']],
    ['SD-30 empty content', mail({ text: '', html: '' }), ['html']],
    ['S-080 an unknown stream', mail({ stream: 'marketing' }), ['stream']],
    ['S-081 X-339 11 tags', mail({ tags: new Array(11).fill('t') }), ['tags']],
    ['SD-31 an empty tag', mail({ tags: [''] }), ['tags', 0]],
    ['SD-31 a long tag', mail({ tags: ['t'.repeat(129)] }), ['tags', 0]],
    ['S-081 a number in metadata', mail({ metadata: { a: 1 } }), ['metadata', 'a']],
    ['SD-31 a long metadata value', mail({ metadata: { a: 'x'.repeat(2_049) } }), ['metadata', 'a']],
    [
      'SD-31 51 metadata keys',
      mail({ metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, ''])) }),
      ['metadata'],
    ],
    [
      'S-082 X-335 11 attachments',
      mail({ attachments: new Array(11).fill({ filename: 'a', content: 'YQ==' }) }),
      ['attachments'],
    ],
    [
      'S-083 an attachment with a url',
      mail({ attachments: [{ filename: 'a', url: 'https://x.test/a' }] }),
      ['attachments', 0, 'content'],
    ],
    ['SD-31 invalid base64', mail({ attachments: [{ filename: 'a', content: '!' }] }), ['attachments', 0, 'content']],
    [
      'SD-31 a path as filename',
      mail({ attachments: [{ filename: '../a', content: '' }] }),
      ['attachments', 0, 'filename'],
    ],
    [
      'a media type with a line break',
      mail({ attachments: [{ filename: 'a', content: '', content_type: 'text/plain\r\n;a=b' }] }),
      ['attachments', 0, 'content_type'],
    ],
    [
      'S-085 X-206 X-344 variables 11 levels deep',
      mail({ variables: { a: nested(11) } }),
      ['variables', ...new Array(11).fill('a')],
    ],
    ['S-085 X-206 X-345 variables of 65,537 bytes', mail({ variables: { a: 'x'.repeat(65_529) } }), ['variables']],
    ['SD-26 a header that the service sets', mail({ headers: { 'reply-TO': 'x' } }), ['headers', 'reply-TO']],
    ['a header that controls a provider', mail({ headers: { 'X-SES-X': 'x' } }), ['headers', 'X-SES-X']],
    ['a header of the service', mail({ headers: { 'x-service-a': 'x' } }), ['headers', 'x-service-a']],
    ['SD-33 a duplicate header', mail({ headers: { 'X-A': '1', a: '', 'x-a': '2' } }), ['headers', 'x-a']],
    ['SD-26 a header value with a line break', mail({ headers: { a: 'x\ny' } }), ['headers', 'a']],
    ['SD-26 a header name with a colon', mail({ headers: { 'a:b': 'x' } }), ['headers', 'a:b']],
    ['SD-26 a long header value', mail({ headers: { a: 'x'.repeat(2_001) } }), ['headers', 'a']],
    [
      'SD-26 51 headers',
      mail({ headers: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`x-${i}`, ''])) }),
      ['headers'],
    ],
    // Rejected by the number of keys. Validating each key would block all other requests.
    ...['headers', 'metadata', 'variables'].map((name): [string, unknown, string[]] => [
      `9,000 ${name}`,
      mail({ [name]: manyKeys }),
      [name],
    ]),
    ['a scheduled_at that is not a time', mail({ scheduled_at: 'tomorrow' }), ['scheduled_at']],
  ]
  test.for(cases)('%s', ([, body, ...paths]) => invalidAt(body, ...paths))

  test.for<[string, Body, path: string[], code: string, message: string]>([
    [
      'SD-26 a header that the service sets',
      { headers: { From: 'v' } },
      ['headers', 'From'],
      'custom',
      'This header is set by the service. Remove it.',
    ],
    [
      'SD-26 a header name with a space',
      { headers: { 'X A': 'v' } },
      ['headers', 'X A'],
      'invalid_string',
      'Must be 1 to 126 printable ASCII characters without colons or spaces.',
    ],
    ['no content', { text: undefined }, ['html'], 'required', 'Provide html, text or both.'],
    ['no subject', { subject: undefined }, ['subject'], 'required', 'Required unless the template supplies it.'],
    ['no recipients', { to: undefined }, ['to'], 'required', 'Required.'],
  ])('X-160 %s has a helpful message', async ([, more, path, code, message]) => {
    const reply = await leavesNoTrace(() => acme.send(mail(more)))
    expectRefusal(reply, 'VALIDATION_ERROR', { errors: [{ path, code, message }] })
  })

  test('S-077 X-235 SD-29 a from without a domain has its own error code, in live and test mode', async () => {
    for (const from of ['hello', '', 'Acme <hello>', 'hello@']) {
      for (const key of [acme.live, acme.test]) {
        expectRefusal(await leavesNoTrace(() => acme.send(mail({ from }), { key })), 'INVALID_FROM')
      }
    }
    await invalidAt(mail({ from: 'a b@example.test' }), ['from'])
  })
})

describe('a send with everything at its limit', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
  const many = (prefix: string) => Array.from({ length: 50 }, (_, i) => `${prefix}${i}@example.com`)
  let accepted: Awaited<ReturnType<typeof sent>>
  let stored: Body

  beforeAll(async () => {
    const deep = { deep: nested(10) }
    const filler = 65_536 - Buffer.byteLength(JSON.stringify({ ...deep, fill: '' }))
    accepted = await sent({
      to: many('to'),
      cc: many('cc'),
      bcc: many('bcc'),
      reply_to: many('re').slice(0, 10),
      tags: new Array(10).fill('t'.repeat(128)),
      subject: 's'.repeat(998),
      metadata: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}`.padEnd(128), 'v'.repeat(2_048)])),
      headers: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`x-${i}`, 'v'.repeat(2_000)])),
      attachments: new Array(10).fill({ filename: 'f'.repeat(255), content: '' }),
      variables: { ...deep, fill: 'x'.repeat(filler) },
    })
    stored = (await acme.get(accepted.id)).body
  })

  test('S-078 X-336 goes to 50 addresses in each of to, cc and bcc', () => {
    const { kept } = accepted
    expect([kept.to.length, kept.cc.length, kept.bcc.length]).toEqual([50, 50, 50])
  })

  test('S-081 X-339 has 10 tags and 50 metadata keys', () => {
    expect([stored.tags, Object.keys(stored.metadata as Body)]).toMatchObject([{ length: 10 }, { length: 50 }])
  })

  test('S-082 X-335 has 10 attachments', () => {
    expect(stored.attachments).toHaveLength(10)
  })

  test('S-085 X-344 X-345 is accepted with variables 10 levels deep and 65,536 bytes long', () => {
    expect([accepted.reply.status, stored.status]).toEqual([200, 'sent'])
  })
})
