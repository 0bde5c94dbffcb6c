/** A send to an audience: its response, its messages, and what their content is made of. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { blastClient, email, readers, sms } from '../../../test/clients/blast-client.ts'
import { sharedTestService } from '../../../test/service/service.ts'

const t = await sharedTestService()

const plain = { channel: 'email', subject: 'Hello {{name}}', text: 'Dear {{first_name}}' }

describe('the response', () => {
  test('S-350 S-362 S-363 X-079 every member gets a scheduled row, and nothing is sent at acceptance', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(3))
    const before = t.service.clock.millis()
    const reply = await own.post(id, email(await own.template(plain)))
    const at = reply.body.starts_at
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        job_id: expect.stringMatching(/^job_[0-9a-z]{26}$/),
        audience_id: id,
        total: 3,
        scheduled: 3,
        suppressed: 0,
        deferred_quiet_hours: 0,
        starts_at: at,
        ends_at: at,
      },
    ])
    expect(Date.parse(at)).toBeGreaterThanOrEqual(before)
    const rows = await own.rows(reply.body.job_id)
    expect(
      rows.map(({ to, status, subject, text, stream, metadata, scheduled_at, due_at }) => [
        to,
        status,
        subject,
        text,
        stream,
        metadata,
        scheduled_at.toISOString(),
        due_at?.toISOString(),
      ]),
    ).toEqual(
      [0, 1, 2].map((i) => [
        `reader${i}@reader.test`,
        'scheduled',
        `Hello Reader ${i}`,
        'Dear Reader',
        'broadcast',
        null,
        at,
        at,
      ]),
    )
    expect(await own.events()).toEqual([])
    await own.fire()
    expect((await own.events()).map(({ event }) => event)).toEqual(['message.sent', 'message.sent', 'message.sent'])
    expect((await own.outbox()).length).toBe(3)
  })

  test('S-352 the send needs the scope write:audiences', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(1))
    const key = await t.key(own.orgId, { scopes: ['read:audiences', 'send:email'] })
    expect((await own.post(id, email('news'), { key })).body.error.code).toBe('INSUFFICIENT_SCOPE')
  })

  test('S-364 SD-95 suppressed and unsubscribed members get no row and are counted', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(4))
    await own.suppress('reader1@reader.test', 'unsubscribe', null, 'email')
    await own.suppress('reader2@reader.test', 'bounce', null, 'email')
    const answer = await own.sent(id, email(await own.template(plain)))
    expect(answer).toMatchObject({ total: 4, scheduled: 2, suppressed: 2 })
    expect((await own.rows(answer.job_id)).map(({ to }) => to)).toEqual(['reader0@reader.test', 'reader3@reader.test'])
  })

  test('SD-96 members without an address, or with the address of an earlier member, get no row', async () => {
    const own = await blastClient(t)
    const template = await own.template({ channel: 'sms', text: 'Hello {{name}}' })
    const id = await own.audience([
      { name: 'First', email: 'first@reader.test', phone: '+12025550101' },
      { name: 'Second', email: 'second@reader.test', phone: '+12025550101' },
      { name: 'Third', email: 'third@reader.test' },
    ])
    const answer = await own.sent(id, sms(template))
    expect(answer).toMatchObject({ total: 3, scheduled: 1, suppressed: 0 })
    expect((await own.rows(answer.job_id)).map(({ text }) => text)).toEqual(['Hello First'])
  })

  test('SD-97 R-32 with nobody left the job is complete at once and fires job.completed only', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(2))
    for (const { email: address } of readers(2)) await own.suppress(address as string, 'manual', null, 'email')
    const answer = await own.sent(id, email(await own.template(plain)))
    expect(answer).toMatchObject({ total: 2, scheduled: 0, suppressed: 2 })
    expect(answer.starts_at).toBe(answer.ends_at)
    expect((await own.job(answer.job_id)).body).toMatchObject({ status: 'completed', started_at: null, scheduled: 0 })
    expect((await own.jobEvents(answer.job_id)).map(({ event, data }) => [event, data])).toEqual([
      [
        'job.completed',
        {
          id: answer.job_id,
          status: 'completed',
          audience_id: id,
          channel: 'email',
          total: 2,
          sent: 0,
          delivered: 0,
          failed: 0,
          canceled: 0,
          suppressed: 2,
          completed_at: expect.any(String),
        },
      ],
    ])
    expect(await own.stored()).toEqual({ messages: 0, jobs: 1 })
  })

  test('A-161 R-53 one audit entry audience.sent names the audience, and no message.sent is written', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(2))
    const { job_id } = await own.sent(id, email(await own.template(plain)))
    expect(await own.audited('audience.sent')).toEqual([
      {
        resource_type: 'audience',
        resource_id: id,
        metadata: expect.objectContaining({ job_id, channel: 'email', count: 2, environment: 'live' }),
      },
    ])
    expect(await own.audited('message.sent')).toEqual([])
  })
})

describe('the time of each message', () => {
  test('S-355 SD-98 X-350 the ramp spreads the members evenly, in the order of their ids', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(5))
    const answer = await own.sent(id, email(await own.template(plain), { ramp_minutes: 60 }))
    const start = Date.parse(answer.starts_at)
    const rows = await own.rows(answer.job_id)
    expect(rows.map(({ to, due_at }) => [to, (due_at as Date).getTime() - start])).toEqual(
      [0, 15, 30, 45, 60].map((minutes, i) => [`reader${i}@reader.test`, minutes * 60_000]),
    )
    expect(Date.parse(answer.ends_at) - start).toBe(3_600_000)
  })

  test.each([-1, 1441, 1.5, '5'])('S-355 X-350 a ramp of %j minutes is refused', async (ramp_minutes) => {
    const own = await blastClient(t)
    const reply = await own.post(await own.audience(readers(1)), email('news', { ramp_minutes }))
    expect([reply.status, reply.body.error.errors[0].path]).toEqual([422, ['ramp_minutes']])
  })

  test('S-359 scheduled_local in its zone is the start', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(2))
    const year = t.service.clock.now().getUTCFullYear() + 1
    const time = { scheduled_local: `${year}-01-05T09:00`, scheduled_at_tz: 'Asia/Tokyo' }
    const answer = await own.sent(id, email(await own.template(plain), time))
    expect([answer.starts_at, answer.ends_at]).toEqual([`${year}-01-05T00:00:00.000Z`, `${year}-01-05T00:00:00.000Z`])
    await own.fire()
    expect((await own.rows(answer.job_id)).map(({ status }) => status)).toEqual(['scheduled', 'scheduled'])
  })

  test.each([
    ['a missing zone', { scheduled_local: '2030-01-05T09:00' }, 'scheduled_at_tz'],
    ['a zone alone', { scheduled_at_tz: 'Asia/Tokyo' }, 'scheduled_local'],
    ['an unknown zone', { scheduled_local: '2030-01-05T09:00', scheduled_at_tz: 'Mars' }, 'scheduled_at_tz'],
    ['a time that cannot be read', { scheduled_local: 'soon', scheduled_at_tz: 'Asia/Tokyo' }, 'scheduled_local'],
  ])('S-359 %s is 422 and nothing is sent', async (_, time, path) => {
    const own = await blastClient(t)
    const reply = await own.post(await own.audience(readers(1)), email(await own.template(plain), time))
    expect([reply.status, reply.body.error.code, reply.body.error.errors[0].path]).toEqual([
      422,
      'VALIDATION_ERROR',
      [path],
    ])
    expect(await own.stored()).toEqual({ messages: 0, jobs: 0 })
  })

  test.each([
    ['2001-01-05T09:00', 'SCHEDULED_AT_IN_PAST'],
    ['2999-01-05T09:00', 'SCHEDULED_AT_TOO_FAR'],
  ])('S-359 R-32 the local time %s is %s', async (scheduled_local, code) => {
    const own = await blastClient(t)
    const time = { scheduled_local, scheduled_at_tz: 'UTC' }
    const reply = await own.post(await own.audience(readers(1)), email(await own.template(plain), time))
    expect(reply.body.error.code).toBe(code)
  })
})

describe('subjects', () => {
  const variantOf = (id: string, n: number) => createHash('sha256').update(id).digest().readUInt32BE(0) % n

  test('S-356 S-357 S-358 SD-99 each contact gets the subject of its hash, with its letter in the metadata', async () => {
    const own = await blastClient(t)
    const members = readers(12, (i) => ({ id: `con_01k6${String(i).padStart(22, '0')}` }))
    const id = await own.audience(members)
    const subject_variants = ['One {{name}}', 'Two {{name}}', 'Three {{name}}']
    const template = await own.template(plain)
    const [first, second] = [
      await own.sent(id, email(template, { subject_variants })),
      await own.sent(id, email(template, { subject_variants })),
    ]
    const expected = members.map((member, i) => {
      const variant = variantOf(member.id as string, 3)
      return [`reader${i}@reader.test`, `${['One', 'Two', 'Three'][variant]} Reader ${i}`, 'ABC'[variant]]
    })
    for (const { job_id } of [first, second]) {
      const rows = await own.rows(job_id)
      const shown = rows.map(({ to, subject, metadata }) => [to, subject, metadata?.subject_variant])
      expect(shown.sort()).toEqual(expected.sort())
    }
  })

  test.each([[['One']], [['1', '2', '3', '4', '5', '6']], ['One'], [['One', '']]])(
    'S-356 X-351 the subjects %j are refused',
    async (subject_variants) => {
      const own = await blastClient(t)
      const reply = await own.post(await own.audience(readers(1)), email('news', { subject_variants }))
      expect([reply.status, reply.body.error.errors[0].path[0]]).toEqual([422, 'subject_variants'])
    },
  )
})

describe('variables', () => {
  const shown = async (text: string, member: object, variables: object = {}, key?: string): Promise<string | null> => {
    const own = await blastClient(t)
    const template = await own.template({ channel: 'email', subject: 'Hi', text })
    const id = await own.audience([{ id: 'con_01k70000000000000000000001', email: 'ada@reader.test', ...member }])
    const { job_id } = await own.sent(id, email(template, { variables }), key === undefined ? {} : { key })
    return (await own.rows(job_id))[0]?.text ?? null
  }

  test('S-380 S-381 SD-103 a template shows the fields of the contact', async () => {
    const text = [
      '{{contact.id}} {{contact.name}} {{name}} {{contact.first_name}} {{first_name}}',
      '{{contact.email}} {{email}} {{contact.phone}} {{phone}}',
    ].join(' ')
    expect(await shown(text, { name: ' Ada\u00a0 King  Lovelace', phone: '+12025550101' })).toBe(
      'con_01k70000000000000000000001  Ada\u00a0 King  Lovelace  Ada\u00a0 King  Lovelace Ada Ada ada@reader.test ada@reader.test +12025550101 +12025550101',
    )
  })

  test('S-382 SD-103 a missing field renders empty and counts as supplied', async () => {
    expect(await shown('[{{name}}|{{first_name}}|{{contact.phone}}|{{phone}}]', {})).toBe('[|||]')
    expect(await shown('[{{first_name}}]', { name: '   ' })).toBe('[]')
  })

  test('S-354 S-383 variables of the request replace fields, and a contact object is merged field by field', async () => {
    const variables = { name: 'Reader', contact: { name: 'Friend', city: 'London' } }
    expect(
      await shown('{{name}} {{contact.name}} {{contact.city}} {{contact.email}}', { name: 'Ada' }, variables),
    ).toBe('Reader Friend London ada@reader.test')
    expect(await shown('[{{contact}}] {{name}}', { name: 'Ada' }, { contact: 'us' })).toBe('[us] Ada')
  })

  test('S-384 metadata overrides fields and variables, and its key contact replaces the whole object', async () => {
    const metadata = { name: 'Countess', city: 'Paris' }
    expect(await shown('{{name}} {{city}} {{contact.name}}', { name: 'Ada', metadata }, { city: 'London' })).toBe(
      'Countess Paris Ada',
    )
    const own = await blastClient(t)
    const template = await own.template({ channel: 'email', subject: 'Hi', text: '[{{contact}}] {{contact.name}}' })
    const id = await own.audience([
      { name: 'Ada', email: 'ada@reader.test', metadata: { contact: 'ours' } },
      { name: 'Bob', email: 'bob@reader.test' },
    ])
    const { job_id } = await own.sent(id, email(template))
    expect((await own.rows(job_id)).map(({ text }) => text)).toEqual(['[ours] ', '[] Bob'])
  })

  test('S-354 variables deeper than ten levels or over 64 KB are refused', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(1))
    const deep = JSON.parse(`${'{"a":'.repeat(12)}1${'}'.repeat(12)}`)
    for (const variables of [deep, { a: 'x'.repeat(65_536) }]) {
      const reply = await own.post(id, email('news', { variables }))
      expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
    }
  })
})

describe('links', () => {
  const linked = {
    channel: 'email',
    subject: 'Hi',
    html: '<a href="https://example.com/">x</a> <a href="{{unsubscribe_url}}">stop</a>',
  }

  test('S-361 S-420 S-421 S-385 each stored body has its own tracked links and its own plain unsubscribe link', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(2, () => ({ metadata: { unsubscribe_url: 'https://evil.test/' } })))
    const variables = { unsubscribe_url: 'https://evil.test/' }
    const { job_id } = await own.sent(id, email(await own.template(linked), { variables }))
    const rows = await own.rows(job_id)
    const seen = rows.map(({ html, headers }) => {
      const [, click, stop] = /<a href="([^"]+)">x<\/a> <a href="([^"]+)">stop<\/a>/.exec(html as string) ?? []
      expect(click).toMatch(/\/t\/c\//)
      expect(stop).toMatch(/\/u\//)
      expect(html).toMatch(/<img src="[^"]*\/t\/o\//)
      expect(html).not.toContain('evil.test')
      expect(headers).toEqual({
        'List-Unsubscribe': `<${stop}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      })
      return [click, stop]
    })
    expect(new Set(seen.flat()).size).toBe(4)
    for (const { id: messageId, html } of rows) {
      const pixel = new URL(/src="([^"]+\/t\/o\/[^"]+)"/.exec(html as string)?.[1] as string)
      expect((await t.ask('GET', pixel.pathname)).status).toBe(200)
      await expect
        .poll(() =>
          t.database.sql("select message_id from message_events where kind = 'opened' and message_id = $1", [
            messageId,
          ]),
        )
        .toEqual([{ message_id: messageId }])
    }
  })

  test('S-361 SD-95 tracking can be turned off, and the unsubscribe headers stay', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(1))
    const off = { track_opens: false, track_clicks: false }
    const { job_id } = await own.sent(id, email(await own.template(linked), off))
    const [row] = await own.rows(job_id)
    expect(row?.html).toMatch(/^<a href="https:\/\/example.com\/">x<\/a> <a href="[^"]+\/u\/[^"]+">stop<\/a>$/)
    expect(Object.keys(row?.headers ?? {})).toEqual(['List-Unsubscribe', 'List-Unsubscribe-Post'])
  })
})
