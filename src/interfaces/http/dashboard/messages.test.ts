import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { mail, simulator } from '../../../../test/clients/mailer.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { type Texter, text, texter } from '../../../../test/clients/texter.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'
import { messageColumnsOf } from '../../../sending/messages/store/message-row.ts'

const t = await startTestService()
afterAll(() => t.stop())

const path = '/api/internal/messages'
const notFound = [404, { error: 'Not found' }]

type Asked = { own: Texter; owner: Member }

const newOrg = async (): Promise<Asked> => {
  const own = await texter(t)
  return { own, owner: await primaryOwner(t, own.orgId) }
}

const idsOf = (reply: Reply): string[] => reply.body.data.map(({ id }: { id: string }) => id)
const answer = ({ status, body }: Reply) => [status, body]

const emailed = async (
  own: Texter,
  body: Record<string, unknown> = {},
  key = own.live,
  headers = {},
): Promise<string> => {
  const reply = await t.ask('POST', '/api/v1/emails', { key, headers, body: mail(body) })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.id
}
const texted = async (own: Texter, body: Record<string, unknown> = {}, key = own.live): Promise<string> => {
  const reply = await own.send(text(body), { key })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.id
}

const rowOf = async (id: string) => {
  const rows = await t.database.sql(`select ${messageColumnsOf('m')}, m.marks from messages m where id = $1`, [id])
  return rows[0] as Record<string, unknown> & { created_at: Date; metadata: unknown; html: string; text: string }
}

/** Every message of the org, to see that a refused request changes nothing. */
const rowsOf = (orgId: string) =>
  t.database.sql(`select ${messageColumnsOf('m')} from messages m where org_id = $1 order by id`, [orgId])

describe('the list of messages', () => {
  let org: Asked
  let email: string
  let sms: string
  let testEmail: string
  beforeAll(async () => {
    org = await newOrg()
    email = await emailed(org.own, { to: ['Bob <bob@Example.com>'], subject: 'Welcome, 100% on_time', tags: ['order'] })
    sms = await texted(org.own, { to: '+15125550123', body: 'Your code is on its way' })
    testEmail = await emailed(org.own, { subject: 'A try' }, org.own.test, { 'x-service-tenant-ref': 'acme' })
  })
  const list = async (query = ''): Promise<Reply> => {
    const reply = await org.owner.ask('GET', `${path}${query}`)
    expect(reply.status, reply.text).toBe(200)
    return reply
  }
  const found = async (q: string): Promise<string[]> => idsOf(await list(`?q=${encodeURIComponent(q)}`))

  test('A-307 shows the messages of both channels and environments, newest first', async () => {
    const created = async (id: string) => (await rowOf(id)).created_at.toISOString()
    const reply = await list()
    const [tried] = reply.body.data
    expect(reply.body).toEqual({
      data: [
        {
          id: testEmail,
          channel: 'email',
          status: 'sent',
          environment: 'test',
          from: 'hello@example.test',
          to: 'ada@example.com',
          subject: 'A try',
          body_preview: null,
          segments: null,
          tenant_id: expect.stringMatching(/^ten_/),
          job_id: null,
          tags: [],
          error_message: null,
          created_at: await created(testEmail),
          scheduled_at: null,
          sent_at: expect.any(String),
          delivered_at: null,
        },
        expect.objectContaining({
          id: sms,
          channel: 'sms',
          environment: 'live',
          from: 'TIDINGS',
          to: '+15125550123',
          subject: null,
          body_preview: 'Your code is on its way',
          segments: 1,
          tenant_id: null,
        }),
        expect.objectContaining({ id: email, channel: 'email', to: 'bob@Example.com', tags: ['order'] }),
      ],
      has_more: false,
      next_cursor: null,
      searched_until: null,
    })
    expect(idsOf(await list(`?tenant_id=${tried.tenant_id}`))).toEqual([testEmail])
  })

  test('A-308 finds an email by any part of its to, from or subject, whatever the case', async () => {
    for (const q of ['bob@example.com', 'BOB@', 'b@eXAMPLE', 'wELCOME', '100%', 'on_t']) {
      expect(await found(q), q).toEqual([email])
    }
    expect(await found('hello@example.test')).toEqual([testEmail, email])
    // Taken literally: neither is a wildcard.
    for (const q of ['W%e', 'ont_time', 'on_x', 'Hello, Ada']) {
      expect(await found(q), q).toEqual([])
    }
  })

  test('A-309 finds an SMS by any part of its to, from or body, and not after its content was removed', async () => {
    for (const q of ['5550123', '+15125550123', 'tidings', 'CODE is']) expect(await found(q), q).toEqual([sms])
    expect(idsOf(await list('?q=+15125550123'))).toEqual([sms])
    await t.database.sql('update messages set text = null, redacted_at = created_at where id = $1', [sms])
    expect(await found('CODE is')).toEqual([])
    expect(await found('5550123')).toEqual([sms])
    await t.database.sql("update messages set text = 'Your code is on its way', redacted_at = null where id = $1", [
      sms,
    ])
  })

  test('A-308 finds a message by its whole id', async () => {
    expect(await found(email)).toEqual([email])
    expect(idsOf(await list(`?q=${email}&channel=sms`))).toEqual([])
    expect(await found(newId('message'))).toEqual([])
  })

  test('filters by channel, status, environment, tag and time, and combines them', async () => {
    expect(idsOf(await list('?channel=sms'))).toEqual([sms])
    expect(idsOf(await list('?environment=test'))).toEqual([testEmail])
    expect(idsOf(await list('?environment=live&channel=email'))).toEqual([email])
    expect(idsOf(await list('?status=sent'))).toEqual([testEmail, sms, email])
    expect(idsOf(await list('?status=bounced'))).toEqual([])
    expect(idsOf(await list('?tag=order'))).toEqual([email])
    expect(idsOf(await list('?tag=orde'))).toEqual([])
    expect(idsOf(await list(`?tenant_id=${newId('tenant')}`))).toEqual([])
    const at = (await rowOf(sms)).created_at.toISOString()
    expect(idsOf(await list(`?created_after=${at}&created_before=${at}`))).toEqual([sms])
    expect(idsOf(await list('?q=&channel=&status=&environment=&tag=&tenant_id=&created_after='))).toHaveLength(3)
  })

  test('is paged, and the pages repeat and skip nothing', async () => {
    for (const query of ['', '&q=e', '&status=sent', '&tag=order']) {
      const all = idsOf(await list(`?limit=100${query}`))
      const seen: string[] = []
      for (let cursor = ''; ; ) {
        const { body } = await list(`?limit=1${query}&cursor=${cursor}`)
        seen.push(...body.data.map(({ id }: { id: string }) => id))
        if (!body.has_more) break
        cursor = body.next_cursor
      }
      expect(seen, query).toEqual(all)
    }
  })

  test.each([
    [`q=${'x'.repeat(201)}`, 'q'],
    ['channel=fax', 'channel'],
    ['status=unknown', 'status'],
    ['environment=both', 'environment'],
    ['created_after=yesterday', 'created_after'],
    ['job_ID=x', 'job_ID'],
  ])('refuses %s', async (query, field) => {
    const reply = await org.owner.ask('GET', `${path}?${query}`)
    expect([reply.status, reply.body.code, reply.body.errors[0].path]).toEqual([422, 'VALIDATION_ERROR', [field]])
  })

  test('has only the messages of the active org', async () => {
    const other = await newOrg()
    expect((await other.owner.ask('GET', path)).body).toEqual({
      data: [],
      has_more: false,
      next_cursor: null,
      searched_until: null,
    })
    for (const query of [`q=${email}`, 'q=bob@example.com', 'tag=order', 'q=e']) {
      expect(idsOf(await other.owner.ask('GET', `${path}?${query}`)), query).toEqual([])
    }
  })
})

describe('a message', () => {
  test('AD-121 shows its content, its history and its events', async () => {
    const { own, owner } = await newOrg()
    const id = await emailed(own, { to: [simulator('delivered')], html: '<p>Hi</p>', headers: { 'X-Order': '7' } })
    await expect.poll(async () => (await rowOf(id)).status).toBe('delivered')
    const viewer = await person(t, { orgId: own.orgId, role: 'viewer' })
    const reply = await viewer.ask('GET', `${path}/${id}`)
    const { body: shown } = await t.ask('GET', `/api/v1/emails/${id}?include=body`, { key: own.live })
    expect(reply.body).toEqual({
      ...shown,
      environment: 'live',
      project_id: expect.stringMatching(/^prj_/),
      key_id: expect.stringMatching(/^key_/),
      provider: 'local',
      body_preview: null,
      segments: null,
      events: [
        {
          id: expect.any(String),
          kind: 'delivered',
          recipient: simulator('delivered'),
          url: null,
          at: expect.any(String),
        },
      ],
    })
    expect(reply.body).toMatchObject({ html: '<p>Hi</p>', text: 'Hello, Ada', headers: { 'X-Order': '7' } })
    expect(reply.body.status_history.map(({ status }: { status: string }) => status)).toEqual(['sent', 'delivered'])
    expect((await owner.ask('GET', `${path}/${id}`)).body).toEqual(reply.body)
  })

  test('AD-121 shows the text of an SMS', async () => {
    const { own, owner } = await newOrg()
    const id = await texted(own, { body: 'Hello' }, own.test)
    const { body } = await owner.ask('GET', `${path}/${id}`)
    const shown = (await own.get(id, own.test)).body
    expect(body).toMatchObject({ ...shown, environment: 'test', body: 'Hello', body_preview: 'Hello', subject: null })
  })
})

describe('sending a message again', () => {
  const resend = (member: Member, id: string) => member.ask('POST', `${path}/${id}/resend`, {})

  test('A-310 stores a copy that is due now and leaves the original as it was', async () => {
    const { own } = await newOrg()
    const developer = await person(t, { orgId: own.orgId, role: 'developer' })
    const id = await emailed(
      own,
      {
        to: ['Ann <ann@example.com>'],
        cc: ['carl@example.com'],
        tags: ['order'],
        metadata: { a: 'b' },
        html: '<p>Hi</p>',
      },
      own.live,
      { 'x-service-tenant-ref': 'acme' },
    )
    const before = await rowOf(id)
    const { result, trail } = await withTrail(t.database, own.orgId, () => resend(developer, id))
    const copyId = result.body.id
    const at = t.service.clock.now()
    expect(answer(result)).toEqual([
      201,
      { id: copyId, status: 'scheduled', scheduled_at: expect.any(String), resent_from: id },
    ])
    expect(Date.parse(result.body.scheduled_at)).toBeLessThanOrEqual(at.getTime())
    expect(await rowOf(id)).toEqual(before)
    const copy = await rowOf(copyId)
    expect(copy).toEqual({
      ...before,
      id: copyId,
      created_at: expect.any(Date),
      key_id: null,
      status: 'scheduled',
      scheduled_at: new Date(result.body.scheduled_at),
      due_at: new Date(result.body.scheduled_at),
      sent_at: null,
      provider: null,
      provider_response: null,
      history: [{ status: 'scheduled', at: expect.any(String) }],
      metadata: { a: 'b', resent_from: id },
    })
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'message.sent',
        actor_user_id: developer.userId,
        resource_type: 'message',
        resource_id: copyId,
        metadata: { channel: 'email', count: 1, environment: 'live' },
      }),
    ])
    await own.fire()
    expect((await rowOf(copyId)).status).toBe('sent')
    const handed = (await own.outbox()).filter(({ message_id }) => message_id === copyId)
    expect(handed).toMatchObject([{ to: ['ann@example.com'], cc: ['carl@example.com'], subject: 'Hello' }])
  })

  test('A-310 sends an SMS again, in its own environment and without its local time', async () => {
    const { own, owner } = await newOrg()
    const id = await texted(
      own,
      { scheduled_local: own.inSeconds(86_400).slice(0, 16), scheduled_at_tz: 'UTC' },
      own.test,
    )
    await t.database.sql("update messages set status = 'failed' where id = $1", [id])
    const reply = await resend(owner, id)
    expect(reply.status, reply.text).toBe(201)
    expect(await rowOf(reply.body.id)).toMatchObject({
      environment: 'test',
      text: 'Hello, Ada',
      sms: { segments: 1 },
      status: 'scheduled',
    })
  })

  test('A-310 the tracked links of the copy count for the copy', async () => {
    const { own, owner } = await newOrg()
    const html = '<p><a href="https://example.com/a">A</a></p>'
    const id = await emailed(own, { html, track_opens: true, track_clicks: true })
    const copyId = (await resend(owner, id)).body.id
    const links = (await rowOf(copyId)).html.match(/\/t\/[oc]\/[A-Za-z0-9_-]+/g) as string[]
    expect(links).toHaveLength(2)
    for (const link of links) await t.ask('GET', link, { headers: { 'user-agent': 'Mozilla/5.0' } })
    const counted = async (message: string) =>
      (await owner.ask('GET', `${path}/${message}`)).body.events.map(({ kind }: { kind: string }) => kind).sort()
    await expect.poll(() => counted(copyId)).toEqual(['clicked', 'opened'])
    expect(await counted(id)).toEqual([])
  })

  test('A-310 what the gates refuse fails when it is sent, with its reason', async () => {
    const { own, owner } = await newOrg()
    const id = await texted(own, { to: '+15125550177' })
    await own.suppress('+15125550177', 'stop')
    const reply = await resend(owner, id)
    expect(reply.status).toBe(201)
    await own.fire()
    expect(await rowOf(reply.body.id)).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching(/^SUPPRESSED/),
    })
  })

  test('S-104 a message from the sandbox that is sent again counts against the daily limit', async () => {
    const { own, owner } = await newOrg()
    const id = await emailed(own, { from: own.sandbox, to: [owner.email] })
    await t.database.sql("update usage_counters set used = 100 where org_id = $1 and measure = 'sandbox'", [own.orgId])
    const before = await rowsOf(own.orgId)
    const reply = await resend(owner, id)
    expect([reply.status, reply.body.code]).toEqual([429, 'SANDBOX_DAILY_LIMIT'])
    expect(await rowsOf(own.orgId)).toEqual(before)
  })

  test.each([
    ['is still scheduled', "status = 'scheduled'", 'NOT_RESENDABLE'],
    ['is being sent', "status = 'sending'", 'NOT_RESENDABLE'],
    ['was redacted', 'html = null, text = null, redacted_at = created_at', 'CONTENT_REDACTED'],
    ['had attachments', `attachments = '[{"filename":"a","content_type":"b"}]'`, 'ATTACHMENTS_NOT_STORED'],
  ])('AD-122 refuses a message that %s', async (_, change, code) => {
    const { own, owner } = await newOrg()
    const id = await emailed(own)
    await t.database.sql(`update messages set ${change} where id = $1`, [id])
    const before = await rowsOf(own.orgId)
    const { result, trail } = await withTrail(t.database, own.orgId, () => resend(owner, id))
    expect([result.status, result.body.code]).toEqual([409, code])
    expect(await rowsOf(own.orgId)).toEqual(before)
    expect(trail).toEqual([])
  })
})

test('X-094 a tracked message that a person looks at counts as not opened', async () => {
  const { own, owner } = await newOrg()
  const id = await emailed(own, { html: '<p>Hello</p>', track_opens: true })
  const look = () => owner.ask('GET', `${path}/${id}`)
  expect((await look()).body.html).toMatch(/\/t\/o\//)
  await owner.ask('GET', `${path}?q=Hello`)
  expect((await look()).body.events.map(({ kind }: { kind: string }) => kind)).not.toContain('opened')
  expect(
    await t.database.sql(`select id from events where org_id = $1 and event = 'message.opened'`, [own.orgId]),
  ).toEqual([])
})

test('A-069 a developer cancels and sends again; a member and a viewer do neither', async () => {
  const { own } = await newOrg()
  const id = await emailed(own, { scheduled_at: own.inSeconds(600) })
  const sent = await emailed(own)
  for (const role of ['member', 'viewer']) {
    const other = await person(t, { orgId: own.orgId, role })
    const before = await rowsOf(own.orgId)
    for (const target of [`${path}/${id}/cancel`, `${path}/${sent}/resend`]) {
      const reply = await other.ask('POST', target, {})
      expect([reply.status, reply.body]).toEqual([403, { error: 'Developer or owner role required' }])
    }
    expect(await rowsOf(own.orgId)).toEqual(before)
  }
  const developer = await person(t, { orgId: own.orgId, role: 'developer' })
  expect((await developer.ask('POST', `${path}/${id}/cancel`, {})).status).toBe(200)
  expect((await developer.ask('POST', `${path}/${sent}/resend`, {})).status).toBe(201)
})

describe('canceling', () => {
  test('AD-123 cancels a scheduled message once', async () => {
    const { own, owner } = await newOrg()
    const id = await emailed(own, { scheduled_at: own.inSeconds(600) }, own.test)
    const cancel = () => owner.ask('POST', `${path}/${id}/cancel`, {})
    const { result, trail } = await withTrail(t.database, own.orgId, cancel)
    expect(answer(result)).toEqual([200, { id, channel: 'email', status: 'canceled', canceled_at: expect.any(String) }])
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'message.canceled',
        actor_user_id: owner.userId,
        resource_id: id,
        metadata: { channel: 'email', environment: 'test' },
      }),
    ])
    const again = await withTrail(t.database, own.orgId, cancel)
    expect([again.result.status, again.result.body.code]).toEqual([409, 'NOT_SCHEDULED'])
    expect(again.trail).toEqual([])
  })
})

test('AD-04 the message of another org is not found, and nothing changes', async () => {
  const [mine, other] = [await newOrg(), await newOrg()]
  const id = await emailed(other.own, { scheduled_at: other.own.inSeconds(600) })
  const before = await rowsOf(other.own.orgId)
  for (const [method, suffix] of [
    ['GET', ''],
    ['POST', '/resend'],
    ['POST', '/cancel'],
  ] as const) {
    for (const wanted of [id, newId('message'), newId('job'), 'nonsense']) {
      const reply = await mine.owner.ask(method, `${path}/${wanted}${suffix}`, method === 'POST' ? {} : undefined)
      expect(answer(reply), `${method} ${wanted}${suffix}`).toEqual(notFound)
    }
  }
  expect(await rowsOf(other.own.orgId)).toEqual(before)
  expect(await rowsOf(mine.own.orgId)).toEqual([])
})
