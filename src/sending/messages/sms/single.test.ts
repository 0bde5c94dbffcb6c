/** Sending one text message immediately: the response, the validation, and the stored and sent message. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TrailEntry, withTrail } from '../../../../test/audit/trail.ts'
import type { Body } from '../../../../test/clients/mailer.ts'
import { type Texter, text, texter } from '../../../../test/clients/texter.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await texter(t)
const number = '+15125550199'
await acme.number(number)
const leavesNoTrace = await watchTables(t.database)

const invalidAt = async (body: unknown, ...paths: (string | number)[][]) => {
  const reply = await leavesNoTrace(() => acme.send(body))
  const errors = paths.map((path) => ({ path, code: expect.any(String), message: expect.any(String) }))
  expectRefusal(reply, 'VALIDATION_ERROR', { errors }, JSON.stringify(body)?.slice(0, 200))
}
const sent = async (more: Body = {}, own: Texter = acme) => {
  const reply = await own.send(text(more))
  expect([reply.status, reply.body.status], reply.text).toEqual([200, 'sent'])
  return { id: reply.body.id as string, reply, kept: await own.handed(reply.body.id) }
}

describe('a send', () => {
  describe('that is accepted', () => {
    let own: Texter
    let startedAt: number
    let reply: Reply
    let trail: TrailEntry[]

    beforeAll(async () => {
      own = await texter(t)
      startedAt = t.service.clock.millis()
      const audited = await withTrail(t.database, own.orgId, () => own.send(text()))
      reply = audited.result
      trail = audited.trail
    })

    test('S-162 S-165 returns the id, channel, status, segments and creation time', () => {
      const { created_at } = reply.body
      expect([reply.status, reply.body]).toEqual([
        200,
        {
          id: expect.stringMatching(/^msg_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
          channel: 'sms',
          status: 'sent',
          segments: 1,
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
          metadata: expect.objectContaining({ channel: 'sms', count: 1, environment: 'live' }),
        }),
      ])
    })

    test('X-077 fires message.sent once', async () => {
      expect(await own.events()).toEqual([
        {
          event: 'message.sent',
          environment: 'live',
          tenant_id: null,
          data: { message_id: reply.body.id, channel: 'sms', status: 'sent' },
        },
      ])
    })

    test('SD-37 counts one message and its segments', async () => {
      expect(await own.used()).toMatchObject({ 'org live sms': 1, 'key live sms': 1 })
    })

    test('S-239 is stored and handed to the provider once', async () => {
      const { id } = reply.body
      expect(await own.traces()).toMatchObject({ messages: ['sent'], outbox: 1 })
      expect(await own.handed(id)).toMatchObject({
        channel: 'sms',
        message_id: id,
        verification_id: null,
        from: 'TIDINGS',
        to: ['+15125550100'],
        cc: [],
        bcc: [],
        subject: null,
        html: null,
        text: null,
        body: 'Hello, Ada',
        media_url: [],
        dlt: null,
      })
      expect((await own.get(id)).body.provider_response.message_id).toMatch(/^local_msg_/)
    })
  })

  test('S-161 S-154 S-202 S-206 requires the scope of its route', async () => {
    const reader = await t.key(acme.orgId, { scopes: ['read:messages'] })
    const sender = await t.key(acme.orgId, { scopes: ['send:sms'] })
    const mailerKey = await t.key(acme.orgId, { scopes: ['send:email'] })
    const { id } = await sent()
    const calls: [key: string, call: (key: string) => Promise<Reply>][] = [
      [reader, (key) => acme.send(text(), { key })],
      [mailerKey, (key) => acme.send(text(), { key })],
      [reader, (key) => acme.batch([text()], { key })],
      [reader, (key) => acme.cancel(id, key)],
      [sender, (key) => acme.list('', key)],
      [sender, (key) => acme.get(id, key)],
    ]
    for (const [key, call] of calls) {
      expectRefusal(await leavesNoTrace(() => call(key)), 'INSUFFICIENT_SCOPE')
    }
    expect((await acme.send(text(), { key: sender })).status).toBe(200)
    expect((await acme.batch([text()], { key: sender })).status).toBe(200)
    expect((await acme.list('', reader)).status).toBe(200)
    expect((await acme.get(id, reader)).status).toBe(200)
  })

  test('S-165 S-181 from is a number among the numbers, or a sender id among the sender ids', async () => {
    expect((await sent({ from: number })).kept.from).toBe(number)
    expect((await sent({ from: 'TIDINGS' })).kept.from).toBe('TIDINGS')
  })

  test('S-172 tags and metadata are stored', async () => {
    const tags = Array.from({ length: 10 }, (_, i) => `t${i}`)
    const { id } = await sent({ tags, metadata: { order: '17' } })
    expect((await acme.get(id)).body).toMatchObject({ tags, metadata: { order: '17' } })
  })

  test('SD-34 placeholders in a body without a template are sent unchanged', async () => {
    expect((await sent({ body: 'Hi {{name}} {{#if x}}' })).kept.body).toBe('Hi {{name}} {{#if x}}')
  })

  test('SD-03 S-236 unknown fields, a message type among them, are ignored', async () => {
    const { kept } = await sent({ message_type: 'PROMOTIONAL', something: 1 })
    expect(JSON.stringify(kept)).not.toContain('PROMOTIONAL')
  })
})

describe('segments', () => {
  const bodies: [what: string, body: string, segments: number][] = [
    ['S-164 300 characters of GSM-7', 'x'.repeat(300), 2],
    ['SD-51 160 characters of GSM-7', 'x'.repeat(160), 1],
    ['SD-51 161 characters of GSM-7', 'x'.repeat(161), 2],
    ['SD-51 80 extension characters', '€'.repeat(80), 1],
    ['SD-51 81 extension characters', '€'.repeat(81), 2],
    ['SD-51 70 UCS-2 units', 'ж'.repeat(70), 1],
    ['SD-51 71 UCS-2 units', 'ж'.repeat(71), 2],
    ['SD-51 1,600 pairs of surrogates', '😀'.repeat(1_600), 49],
  ]

  test.for(bodies)('%s: the answer, the row, the list, the detail and the price agree', async ([, body, segments]) => {
    const own = await texter(t, { plan: 'payg' })
    const { id, reply, kept } = await sent({ body }, own)
    expect(reply.body.segments).toBe(segments)
    expect(kept.body).toBe(body)
    expect(await own.row(id)).toMatchObject({ text: body, sms: { segments } })
    expect((await own.list()).body.data).toEqual([expect.objectContaining({ id, segments })])
    expect((await own.get(id)).body.segments).toBe(segments)
    expect(await own.used()).toMatchObject({
      'org live sms': 1,
      'org live segments': segments,
      'org live spend': segments * 8_300,
    })
  })

  test('S-163 S-207 are counted after the template is rendered', async () => {
    const own = await texter(t, { plan: 'payg' })
    const body = { slug: 'long', channel: 'sms', text: '{{a}}' }
    expect((await t.ask('POST', '/api/v1/templates', { key: own.live, body })).status).toBe(201)
    const variables = { a: 'x'.repeat(307) }
    const { id, reply } = await sent({ body: undefined, template: 'long', variables }, own)
    expect(reply.body.segments).toBe(3)
    expect((await own.get(id)).body).toMatchObject({ body: variables.a, segments: 3 })
    expect(await own.used()).toMatchObject({ 'org live segments': 3, 'org live spend': 3 * 8_300 })
  })
})

describe('prices', () => {
  const prices: [what: string, plan: 'free' | 'payg' | 'pro' | 'enterprise', more: Body, micros: number | undefined][] =
    [
      ['Canada on payg', 'payg', { to: '+14165550100' }, 8_300],
      ['the UK on payg', 'payg', { to: '+447700900123' }, 46_300],
      ['Germany on pro', 'pro', { to: '+4915112345678' }, 95_400],
      ['an unlisted country on enterprise', 'enterprise', { to: '+351912345678' }, 72_000],
      ['R-41 Jamaica by its own country', 'payg', { to: '+18765550100' }, 90_000],
      ['R-41 the free plan', 'free', { to: '+447700900123' }, undefined],
      [
        'R-41 an MMS to the US, whatever its length',
        'payg',
        { body: 'x'.repeat(300), media_url: ['s3://abc/k'] },
        20_000,
      ],
      ['R-41 an MMS elsewhere on pro', 'pro', { to: '+447700900123', media_url: ['s3://abc/k'] }, 54_000],
    ]

  test.for(prices)('XD-27 %s', async ([, plan, more, micros]) => {
    const own = await texter(t, { plan })
    await own.number(number)
    await sent({ from: number, ...more }, own)
    expect((await own.used())['org live spend']).toBe(micros)
  })

  test('XD-27 R-36 a send that would exceed the spend cap is refused, and one that reaches it is sent', async () => {
    const own = await texter(t, { plan: 'payg', spendMicros: 16_600 })
    await sent({}, own)
    const over = { body: 'x'.repeat(161) }
    await own.send(text(over))
    expectRefusal(await leavesNoTrace(() => own.send(text(over))), 'SPEND_CAP_EXCEEDED', {
      message: expect.any(String) as unknown as string,
    })
    await sent({}, own)
    expect(await own.used()).toMatchObject({ 'org live sms': 2, 'org live spend': 16_600 })
  })
})

describe('a template', () => {
  const make = (body: Body, key = acme.live) => t.ask('POST', '/api/v1/templates', { key, body })

  test('S-173 S-305 S-321 supplies the body from its text alone, without escaping', async () => {
    await make({ slug: 'hi', channel: 'sms', subject: 'Ignored {{nowhere}}', text: 'Hi {{name}} & co' })
    const { kept } = await sent({ body: undefined, template: 'hi', variables: { name: '<Ada>' } })
    expect([kept.body, kept.subject]).toEqual(['Hi <Ada> & co', null])
  })

  test('S-328 body of the request overrides it, unrendered', async () => {
    const { kept } = await sent({ body: 'Mine {{name}}', template: 'hi', variables: { name: 'x' } })
    expect(kept.body).toBe('Mine {{name}}')
  })

  test('S-324 S-183 SD-52 is rejected when it is unknown, of another channel, or lacks variables', async () => {
    const base = text({ body: undefined })
    await invalidAt({ ...base, template: 'nowhere' }, ['template'])
    await make({ slug: 'mail', channel: 'email', subject: 'x', text: 'x' })
    await invalidAt({ ...base, template: 'mail' }, ['template'])
    await make({ slug: 'needs', channel: 'sms', text: '{{a}} {{b.c}}' })
    const reply = await leavesNoTrace(() => acme.send({ ...base, template: 'needs', variables: {} }))
    const errors = ['a', 'b.c'].map((name) => ({ path: ['variables', name], code: 'required', message: 'Required.' }))
    expectRefusal(reply, 'TEMPLATE_MISSING_VARIABLES', { errors })
  })

  test('S-183 S-339 that exceeds a rendering limit sends nothing', async () => {
    await make({ slug: 'loop', channel: 'sms', text: 'x{{#each xs}}{{/each}}' })
    const ask = (n: number) =>
      acme.send(text({ body: undefined, template: 'loop', variables: { xs: new Array(n).fill(0) } }))
    expect((await ask(5_000)).status).toBe(200)
    const message = 'The loops of the template run more than 5,000 times.'
    expectRefusal(await leavesNoTrace(() => ask(5_001)), 'PAYLOAD_TOO_LARGE', { message })
  })

  test('SD-52 that renders to nothing or to more than 1,600 characters is rejected at body', async () => {
    await make({ slug: 'void', channel: 'sms', text: '{{t}}' })
    const ask = (t: string) => text({ body: undefined, template: 'void', variables: { t } })
    await invalidAt(ask(''), ['body'])
    await invalidAt(ask('😀'.repeat(1_601)), ['body'])
    expect((await acme.send(ask('😀'.repeat(1_600)))).status).toBe(200)
  })
})

describe('media', () => {
  const file = (i: number) => `s3://media-bucket/folder/cat ${i}.jpg`.replace(' ', '-')

  test('S-232 S-236 S-237 X-341 up to 10 files are handed to the provider with the body, as one segment', async () => {
    const media_url = Array.from({ length: 10 }, (_, i) => file(i))
    const { id, reply, kept } = await sent({ from: number, body: 'x'.repeat(500), media_url })
    expect([reply.body.segments, kept.media_url, kept.body]).toEqual([1, media_url, 'x'.repeat(500)])
    expect((await acme.get(id)).body).toMatchObject({ media_url, segments: 1 })
  })

  test('S-234 S-235 X-239 X-341 an 11th file is refused before anything is counted', async () => {
    const media_url = Array.from({ length: 11 }, (_, i) => file(i))
    expectRefusal(await leavesNoTrace(() => acme.send(text({ from: number, media_url }))), 'MMS_TOO_MANY_ATTACHMENTS')
  })

  test.for([
    'https://example.com/cat.jpg',
    's3://media-bucket',
    's3://media-bucket/',
    's3:///key',
    's3://Media/key',
    's3://ab/key',
    's3://media-bucket/a b',
    's3://media-bucket/a\nb',
    ' s3://media-bucket/a',
    '',
  ])('S-233 S-235 X-240 %j is not a media URI', async (uri) => {
    const body = text({ from: number, media_url: [file(1), uri] })
    expectRefusal(await leavesNoTrace(() => acme.send(body)), 'MMS_INVALID_MEDIA_URI')
  })

  test('SD-59 an alphanumeric sender cannot send media, in live and in test mode', async () => {
    for (const key of [acme.live, acme.test]) {
      const reply = await leavesNoTrace(() => acme.send(text({ media_url: [file(1)] }), { key }))
      const errors = [{ path: ['media_url'], code: 'custom', message: 'MMS needs a number as its sender.' }]
      expectRefusal(reply, 'VALIDATION_ERROR', { errors })
    }
  })
})

describe('an invalid request is rejected with the path of each error:', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
  const cases: [rule: string, body: unknown, ...paths: (string | number)[][]][] = [
    ['S-166 neither from nor from_pool', text({ from: undefined }), ['from']],
    ['SD-53 both from and from_pool', text({ from_pool: 'main' }), ['from_pool']],
    ['S-165 SD-56 a sender id of 12 characters', text({ from: 'ABCDEFGHIJKL' }), ['from']],
    ['S-165 SD-56 a sender id without a letter', text({ from: '12345' }), ['from']],
    ['S-165 SD-56 a sender id with an underscore', text({ from: 'AC_ME' }), ['from']],
    ['S-165 an empty sender', text({ from: '' }), ['from']],
    ['S-165 a number without a plus sign', text({ from: '15125550199' }), ['from']],
    ['S-169 to is required', text({ to: undefined }), ['to']],
    ['S-169 a number without a plus sign', text({ to: '15125550100' }), ['to']],
    ['S-169 a number that begins with 0', text({ to: '+05125550100' }), ['to']],
    ['S-169 a single digit', text({ to: '+1' }), ['to']],
    ['S-169 16 digits', text({ to: '+1234567890123456' }), ['to']],
    ['S-169 a line break after the number', text({ to: '+15125550100\n' }), ['to']],
    ['S-169 digits of another script', text({ to: '+١٥١٢٥٥٥٠١٠٠' }), ['to']],
    ['S-169 a list', text({ to: ['+15125550100'] }), ['to']],
    ['S-170 S-171 X-340 an empty body', text({ body: '' }), ['body']],
    ['S-170 X-340 a body of 1,601 characters', text({ body: 'x'.repeat(1_601) }), ['body']],
    ['S-170 SD-51 a body of 1,601 pairs of surrogates', text({ body: '😀'.repeat(1_601) }), ['body']],
    ['S-170 a body far too long', text({ body: 'x'.repeat(100_000) }), ['body']],
    ['S-171 neither body nor template', text({ body: undefined }), ['body']],
    ['S-172 X-339 11 tags', text({ tags: new Array(11).fill('t') }), ['tags']],
    ['S-172 a number in metadata', text({ metadata: { a: 1 } }), ['metadata', 'a']],
    [
      'S-173 variables 11 levels deep',
      text({ variables: { a: nested(11) } }),
      ['variables', ...new Array(11).fill('a')],
    ],
    ['S-173 variables over 64 KB', text({ variables: { a: 'x'.repeat(65_529) } }), ['variables']],
    ['S-232 media_url is a list', text({ media_url: 's3://abc/key' }), ['media_url']],
    ['S-232 media_url contains texts', text({ media_url: [1] }), ['media_url', 0]],
    ['S-174 a DLT template that is not a text', text({ dlt_template_id: 7 }), ['dlt_template_id']],
    ['SD-44 scheduled_at is not an instant', text({ scheduled_at: 'tomorrow' }), ['scheduled_at']],
    ['SD-45 a local time without a zone', text({ scheduled_local: '2030-01-01T09:00' }), ['scheduled_at_tz']],
    ['SD-45 a zone without a local time', text({ scheduled_at_tz: 'Europe/Berlin' }), ['scheduled_local']],
    [
      'SD-45 an unknown zone',
      text({ scheduled_local: '2030-01-01T09:00', scheduled_at_tz: 'Europe/Atlantis' }),
      ['scheduled_at_tz'],
    ],
    [
      'SD-45 a local time with an offset',
      text({ scheduled_local: '2030-01-01T09:00Z', scheduled_at_tz: 'Europe/Berlin' }),
      ['scheduled_local'],
    ],
    [
      'SD-45 a day that does not exist',
      text({ scheduled_local: '2030-02-30T09:00', scheduled_at_tz: 'Europe/Berlin' }),
      ['scheduled_local'],
    ],
    [
      'SD-45 scheduled_at and scheduled_local',
      text({
        scheduled_at: '2030-01-01T09:00:00Z',
        scheduled_local: '2030-01-01T09:00',
        scheduled_at_tz: 'Europe/Berlin',
      }),
      ['scheduled_local'],
    ],
    ['not an object', 'text', []],
  ]

  test.for(cases)('%s', ([, body, ...paths]) => invalidAt(body, ...paths))

  test.for(['\0', '\ud800', 'a\0b'])(
    'texts that no column can store never cause an internal error: %j',
    async (bad) => {
      const fields: Body[] = [
        { from: bad },
        { from: undefined, from_pool: bad },
        { to: bad },
        { body: bad },
        { template: bad },
        { tags: [bad] },
        { metadata: { a: bad } },
        { media_url: [bad] },
        { media_url: [`s3://abc/${bad}`], from: number },
        { to: '+919876543210', dlt_template_id: bad },
        { scheduled_local: bad, scheduled_at_tz: 'UTC' },
        { scheduled_local: '2030-01-01T09:00', scheduled_at_tz: bad },
      ]
      for (const key of [acme.live, acme.test]) {
        for (const more of fields) {
          const reply = await acme.send(text(more), { key })
          expect(reply.status, `${JSON.stringify(more)} ${reply.text}`).toBeLessThan(500)
          expect((await acme.batch([text(more)], { key })).status, JSON.stringify(more)).toBeLessThan(500)
        }
        for (const query of ['to=%00', 'tag=%00', 'to=%ed%a0%80']) {
          expect((await acme.list(`?${query}`, key)).status, query).toBeLessThan(500)
        }
      }
    },
  )

  test('S-170 X-340 bodies of 1 and of 1,600 characters are sent', async () => {
    await sent({ body: 'x' })
    await sent({ body: 'x'.repeat(1_600) })
  })
})
