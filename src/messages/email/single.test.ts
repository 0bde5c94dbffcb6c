/** One email, sent at once: what it answers, what it takes, what it leaves. */
import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { type Body, mail, mailer } from '../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

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
  test('S-075 S-128 A-167 X-077 AD-96 SD-37 answers, is stored, handed over, metered, told of and audited, each once', async () => {
    const own = await mailer(t)
    const before = t.service.clock.millis()
    const body = mail({ to: ['Ada <ada@example.com>', 'bob@example.com'], cc: ['cy@example.com'] })
    const { result: reply, trail } = await withTrail(t.database, own.orgId, () => own.send(body))
    const { id, created_at } = reply.body
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        id: expect.stringMatching(/^msg_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
        channel: 'email',
        status: 'sent',
        created_at,
      },
    ])
    expect(Date.parse(created_at)).toBeGreaterThanOrEqual(before)
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'message.sent',
        resource_type: 'message',
        resource_id: id,
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
    expect(await own.events()).toEqual([
      {
        event: 'message.sent',
        environment: 'live',
        tenant_id: null,
        data: { message_id: id, channel: 'email', status: 'sent' },
      },
    ])
    expect(await own.used()).toMatchObject({ 'org live email': 3, 'key live email': 3 })
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

  test('S-086 SD-25 SD-28 cc, bcc, reply_to and headers go out, with names, and only the bcc is not shown to the others', async () => {
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

  test('an address that is named twice gets one mail and counts once', async () => {
    const own = await mailer(t)
    const reply = await own.send(mail({ to: ['ada@example.com', 'Ada@Example.com'], cc: ['ADA@example.com'] }))
    expect(await own.handed(reply.body.id)).toMatchObject({ to: ['ada@example.com'], cc: [] })
    expect((await own.used())['org live email']).toBe(1)
  })

  test('S-080 S-081 S-088 SD-27 what is left out is transactional, untracked and without tags', async () => {
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

  test('S-079 SD-30 html, text or both make the content', async () => {
    const { kept: html } = await sent({ text: undefined, html: '<p>Hi</p>' })
    const { kept: both } = await sent({ html: '<p>Hi</p>' })
    expect([html.html, html.text, both.html, both.text]).toEqual(['<p>Hi</p>', null, '<p>Hi</p>', 'Hello, Ada'])
  })

  test('SD-34 placeholders in what is given directly go out as they are', async () => {
    const { kept } = await sent({ subject: 'Hi {{name}}', text: '{{name}} {{#if x}}', html: '{{ name }}' })
    expect(kept).toMatchObject({ subject: 'Hi {{name}}', text: '{{name}} {{#if x}}', html: '{{ name }}' })
  })

  test('S-082 S-140 SD-31 attachments go out whole; of them only names and types are stored', async () => {
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

  test('S-084 supplies what the request leaves out, field by field', async () => {
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

  test('X-205 X-232 X-234 unknown, incomplete or of tenants only it is refused', async () => {
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
    const body = { slug: 'theirs', channel: 'email', subject: 'x', text: 'x' }
    expect((await t.ask('POST', '/api/v1/templates', { key, body })).status).toBe(201)
    expectRefusal(await leavesNoTrace(() => acme.send({ ...base, template: 'theirs' })), 'TEMPLATE_TENANT_SCOPED')
    expect((await acme.send({ ...base, template: 'theirs' }, { key })).status).toBe(200)
  })

  test('S-109 X-229 X-346 past a cap of rendering nothing is sent, whole or in part', async () => {
    await make({ slug: 'loop', channel: 'email', subject: 'x', text: '{{#each xs}}.{{/each}}' })
    const ask = (n: number) =>
      acme.send(mail({ text: undefined, template: 'loop', variables: { xs: new Array(n).fill(0) } }))
    expect((await ask(5_000)).status).toBe(200)
    const message = 'The loops of the template run more than 5,000 times.'
    expectRefusal(await leavesNoTrace(() => ask(5_001)), 'PAYLOAD_TOO_LARGE', { message })
  })

  test('SD-30 one that renders to nothing is no content', async () => {
    await make({ slug: 'void', channel: 'email', subject: '{{s}}', text: '{{t}}' })
    const ask = (variables: Body) => mail({ subject: undefined, text: undefined, template: 'void', variables })
    await invalidAt(ask({ s: '', t: 'x' }), ['subject'])
    await invalidAt(ask({ s: 'x', t: '' }), ['template'])
  })
})

describe('a request that is not in order is told where, and leaves nothing:', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
  const manyKeys = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`:${i}`, 0]))
  const cases: [rule: string, body: unknown, ...paths: (string | number)[][]][] = [
    ['S-076 from is required', mail({ from: undefined }), ['from']],
    ['S-078 X-336 to is required', mail({ to: undefined }), ['to']],
    ['S-078 X-336 to takes at least one', mail({ to: [] }), ['to']],
    ['S-078 X-336 to takes at most 50', mail({ to: new Array(51).fill('a@b.test') }), ['to']],
    ['S-078 SD-25 to is a list only', mail({ to: 'a@b.test' }), ['to']],
    ['S-078 to holds addresses', mail({ to: ['a@b.test', 'nobody'] }), ['to', 1]],
    ['SD-28 at most 320 characters', mail({ to: [`a@${`${'b'.repeat(60)}.`.repeat(6)}test`] }), ['to', 0]],
    ['SD-25 cc takes at most 50', mail({ cc: new Array(51).fill('a@b.test') }), ['cc']],
    ['SD-25 reply_to takes at most 10', mail({ reply_to: new Array(11).fill('a@b.test') }), ['reply_to']],
    ['S-079 X-204 subject', mail({ subject: undefined }), ['subject']],
    ['S-079 an empty subject', mail({ subject: '' }), ['subject']],
    ['a subject of two lines', mail({ subject: 'a\r\nBcc: x@y.test' }), ['subject']],
    ['SD-30 no content', mail({ text: undefined }), ['html']],
    ['SD-30 empty content', mail({ text: '', html: '' }), ['html']],
    ['S-080 stream', mail({ stream: 'marketing' }), ['stream']],
    ['S-081 X-339 11 tags', mail({ tags: new Array(11).fill('t') }), ['tags']],
    ['SD-31 an empty tag', mail({ tags: [''] }), ['tags', 0]],
    ['SD-31 a long tag', mail({ tags: ['t'.repeat(129)] }), ['tags', 0]],
    ['S-081 metadata of numbers', mail({ metadata: { a: 1 } }), ['metadata', 'a']],
    ['SD-31 long metadata', mail({ metadata: { a: 'x'.repeat(2_049) } }), ['metadata', 'a']],
    [
      'SD-31 51 keys of metadata',
      mail({ metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, ''])) }),
      ['metadata'],
    ],
    [
      'S-082 X-335 11 attachments',
      mail({ attachments: new Array(11).fill({ filename: 'a', content: 'YQ==' }) }),
      ['attachments'],
    ],
    [
      'S-083 an attachment by url',
      mail({ attachments: [{ filename: 'a', url: 'https://x.test/a' }] }),
      ['attachments', 0, 'content'],
    ],
    ['SD-31 no base64', mail({ attachments: [{ filename: 'a', content: '!' }] }), ['attachments', 0, 'content']],
    ['SD-31 a path', mail({ attachments: [{ filename: '../a', content: '' }] }), ['attachments', 0, 'filename']],
    [
      'a media type of two lines',
      mail({ attachments: [{ filename: 'a', content: '', content_type: 'text/plain\r\n;a=b' }] }),
      ['attachments', 0, 'content_type'],
    ],
    [
      'S-085 X-206 X-344 variables 11 deep',
      mail({ variables: { a: nested(11) } }),
      ['variables', ...new Array(11).fill('a')],
    ],
    ['S-085 X-206 X-345 variables of 65,537 bytes', mail({ variables: { a: 'x'.repeat(65_529) } }), ['variables']],
    ['SD-26 a header we write', mail({ headers: { 'reply-TO': 'x' } }), ['headers', 'reply-TO']],
    ['a header that is an order to a provider', mail({ headers: { 'X-SES-X': 'x' } }), ['headers', 'X-SES-X']],
    ['a header of our own', mail({ headers: { 'x-service-a': 'x' } }), ['headers', 'x-service-a']],
    ['SD-33 a header twice', mail({ headers: { 'X-A': '1', a: '', 'x-a': '2' } }), ['headers', 'x-a']],
    ['SD-26 a header of two lines', mail({ headers: { a: 'x\ny' } }), ['headers', 'a']],
    ['SD-26 a name with a colon', mail({ headers: { 'a:b': 'x' } }), ['headers', 'a:b']],
    ['SD-26 a long value', mail({ headers: { a: 'x'.repeat(2_001) } }), ['headers', 'a']],
    [
      'SD-26 51 headers',
      mail({ headers: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`x-${i}`, ''])) }),
      ['headers'],
    ],
    // Told at once, by their number: looked into one by one they would hold up everybody else.
    ...['headers', 'metadata', 'variables'].map((name): [string, unknown, string[]] => [
      `100,000 ${name}`,
      mail({ [name]: manyKeys }),
      [name],
    ]),
    ['a time that is none', mail({ scheduled_at: 'tomorrow' }), ['scheduled_at']],
  ]
  test.for(cases)('%s', ([, body, ...paths]) => invalidAt(body, ...paths))

  test.for<[string, Body, path: string[], code: string, message: string]>([
    [
      'SD-26 a header we write',
      { headers: { From: 'v' } },
      ['headers', 'From'],
      'custom',
      'This header is for the service to write.',
    ],
    [
      'SD-26 a name with a space',
      { headers: { 'X A': 'v' } },
      ['headers', 'X A'],
      'invalid_string',
      'Takes 1 to 126 printable ASCII characters without colon or space.',
    ],
    ['no content', { text: undefined }, ['html'], 'required', 'Takes html, text or both.'],
    ['no subject', { subject: undefined }, ['subject'], 'required', 'Required unless the template supplies it.'],
    ['no recipients', { to: undefined }, ['to'], 'required', 'Required.'],
  ])('X-160 %s is told in words that help', async ([, more, path, code, message]) => {
    const reply = await leavesNoTrace(() => acme.send(mail(more)))
    expectRefusal(reply, 'VALIDATION_ERROR', { errors: [{ path, code, message }] })
  })

  test('S-077 X-235 SD-29 a from without a domain has its own code, in both environments', async () => {
    for (const from of ['hello', '', 'Acme <hello>', 'hello@']) {
      for (const key of [acme.live, acme.test]) {
        expectRefusal(await leavesNoTrace(() => acme.send(mail({ from }), { key })), 'INVALID_FROM')
      }
    }
    await invalidAt(mail({ from: 'a b@example.test' }), ['from'])
  })
})

test('S-078 S-081 S-082 S-085 X-335 X-336 X-339 X-344 X-345 everything at its bounds is taken at once', async () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
  const many = (prefix: string) => Array.from({ length: 50 }, (_, i) => `${prefix}${i}@example.com`)
  const deep = { deep: nested(10) }
  const filler = 65_536 - Buffer.byteLength(JSON.stringify({ ...deep, fill: '' }))
  const { kept } = await sent({
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
  expect([kept.to.length, kept.cc.length, kept.bcc.length]).toEqual([50, 50, 50])
})
