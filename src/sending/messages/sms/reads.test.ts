/** Reading text messages: the list, its filters, the detail, and who sees what. */
import { afterAll, describe, expect, test } from 'vitest'
import { text, texter } from '../../../../test/clients/texter.ts'
import { iso, tick } from '../../../../test/expect/instants.ts'
import { expectRefusal } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { MESSAGE_CONTENT_TTL_DAYS: '1' } })
afterAll(() => t.stop())

type Listed = { data: { id: string }[]; has_more: boolean; next_cursor: string | null }
const ids = ({ body }: { body: Listed }) => body.data.map(({ id }) => id)

describe('GET /sms', () => {
  test('S-203 S-207 SD-02 lists the fields of each message, newest first', async () => {
    const own = await texter(t)
    const first = (await own.send(text({ body: 'x'.repeat(161) }))).body
    const second = (await own.send(text({ to: '+447700900123' }))).body
    const reply = await own.list()
    const row = { channel: 'sms', status: 'sent', from: 'TIDINGS', sent_at: iso, delivered_at: null }
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        data: [
          { ...row, id: second.id, to: '+447700900123', segments: 1, created_at: second.created_at },
          { ...row, id: first.id, to: '+15125550100', segments: 2, created_at: first.created_at },
        ],
        has_more: false,
        next_cursor: null,
      },
    ])
  })

  test('S-203 S-204 SD-41 filters by status, tag, recipient and time, and pages without gaps', async () => {
    const own = await texter(t)
    const sent: { id: string; created_at: string }[] = []
    for (const more of [{ tags: ['a'] }, { to: '+447700900123', tags: ['A'] }, { tags: ['a', 'b'] }]) {
      sent.push((await own.send(text(more))).body)
      await tick(t.service.clock)
    }
    sent.push((await own.send(text({ scheduled_at: own.inSeconds(600) }))).body)
    const [one, two, three, four] = sent.map(({ id }) => id)
    const at = (i: number) => encodeURIComponent(sent[i]?.created_at as string)
    const queries: [query: string, found: unknown[]][] = [
      ['?status=scheduled', [four]],
      ['?status=sent', [three, two, one]],
      ['?status=delivered', []],
      ['?tag=a', [three, one]],
      ['?tag=A', [two]],
      ['?to=%2B447700900123', [two]],
      ['?to=+447700900123', [two]],
      ['?to=447700900123', []],
      ['?to=%2B44770090012', []],
      [`?created_after=${at(1)}`, [four, three, two]],
      [`?created_before=${at(1)}`, [two, one]],
      [`?created_after=${at(1)}&created_before=${at(1)}`, [two]],
      ['?tag=a&to=%2B15125550100&status=sent', [three, one]],
    ]
    for (const [query, found] of queries) expect(ids(await own.list(query)), query).toEqual(found)
    const pages: string[][] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: { body: Listed } = await own.list(`?limit=3&cursor=${cursor}`)
      pages.push(ids(page))
      cursor = page.body.next_cursor
      expect(page.body.has_more).toBe(cursor !== null)
    }
    expect(pages).toEqual([[four, three, two], [one]])
  })

  test.for(['limit=0', 'limit=101', 'limit=x', 'status=queued', 'created_after=yesterday', 'created_before=x'])(
    'S-203 SD-02 SD-41 %s is invalid',
    async (query) => {
      const own = await texter(t)
      const reply = await own.list(`?${query}`)
      expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
      expectRefusal(await own.list('?cursor=nonsense'), 'INVALID_CURSOR')
    },
  )

  test('S-203 accepts a limit of 100 and lists no email', async () => {
    const own = await texter(t)
    const mail = { from: 'hello@example.test', to: ['ada@example.com'], subject: 'Hello', text: 'Hello' }
    await t.ask('POST', '/api/v1/emails', { key: own.live, body: mail })
    expect((await own.list('?limit=100')).body.data).toEqual([])
  })
})

describe('GET /sms/{id}', () => {
  test('S-206 S-207 shows the whole message', async () => {
    const own = await texter(t)
    const { id, created_at } = (await own.send(text({ tags: ['a'], metadata: { k: 'v' } }))).body
    const { status, body } = await own.get(id)
    expect([status, body]).toEqual([
      200,
      {
        id,
        channel: 'sms',
        status: 'sent',
        from: 'TIDINGS',
        from_pool: null,
        to: '+15125550100',
        body: 'Hello, Ada',
        segments: 1,
        media_url: [],
        dlt_template_id: null,
        tags: ['a'],
        metadata: { k: 'v' },
        created_at,
        scheduled_at: null,
        scheduled_local: null,
        scheduled_at_tz: null,
        sent_at: iso,
        delivered_at: null,
        canceled_at: null,
        redacted_at: null,
        error_message: null,
        provider_response: {
          message_id: expect.stringMatching(/^local_msg_/),
          token: null,
          bounce_type: null,
          bounce_subtype: null,
          detail: null,
        },
        status_history: [{ status: 'sent', at: iso, recipient: null, detail: null }],
        job_id: null,
        tenant_id: null,
      },
    ])
  })

  test('S-205 S-206 is not found in another environment, tenant, org or channel', async () => {
    const own = await texter(t)
    const other = await texter(t)
    const [mine, theirs] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
    const [key, foreign] = [await t.key(own.orgId, { tenantId: mine }), await t.key(own.orgId, { tenantId: theirs })]
    const live = (await own.send(text(), { key })).body.id
    const simulatedId = (await own.send(text(), { key: own.test })).body.id
    for (const by of [own.live, key]) expect((await own.get(live, by)).status).toBe(200)
    for (const by of [own.test, foreign, other.live]) expectRefusal(await own.get(live, by), 'NOT_FOUND')
    for (const by of [own.live, key, other.test]) expectRefusal(await own.get(simulatedId, by), 'NOT_FOUND')
    expectRefusal(await t.ask('GET', `/api/v1/emails/${live}`, { key: own.live }), 'NOT_FOUND')
    expectRefusal(await own.get(newId('message')), 'NOT_FOUND')
    expect(ids(await own.list('', own.live))).toEqual([live])
    expect(ids(await own.list('', own.test))).toEqual([simulatedId])
    expect(ids(await own.list('', key))).toEqual([live])
    expect(ids(await own.list('', foreign))).toEqual([])
    expect((await own.get(live)).body.tenant_id).toBe(mine)
  })

  test('SD-42 the body is redacted after its time, and the segments stay', async () => {
    const own = await texter(t)
    const { id } = (await own.send(text({ body: 'x'.repeat(161) }))).body
    await own.advance(2 * 86_400)
    await t.ask('POST', '/api/dev/run', { body: { task: 'redaction' } })
    expect((await own.get(id)).body).toMatchObject({ body: null, redacted_at: iso, segments: 2, to: '+15125550100' })
    expect(await own.row(id)).toMatchObject({ text: null })
  })

  test("S-205 an erased tenant's messages keep neither body, number nor media", async () => {
    const own = await texter(t)
    const tenantId = await t.tenant(own.orgId)
    const key = await t.key(own.orgId, { tenantId })
    await own.number('+15125550199')
    const { id } = (await own.send(text({ from: '+15125550199', media_url: ['s3://abc/key'] }), { key })).body
    const tenant = `/api/v1/tenants/${tenantId}`
    expect((await t.ask('DELETE', tenant, { key: own.live })).status).toBe(200)
    const erased = await t.ask('POST', `${tenant}/erase`, { key: own.live })
    expect(erased.status, erased.text).toBe(200)
    expect(await own.row(id)).toMatchObject({ text: null, to_addresses: [], sms: { segments: 1 } })
    expect((await own.get(id)).body).toMatchObject({ body: null, to: null, media_url: [] })
    expect(JSON.stringify((await own.row(id)).sms)).not.toContain('s3:')
  })
})
