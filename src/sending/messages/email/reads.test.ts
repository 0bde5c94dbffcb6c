/** Listing emails, filtering the list, and reading one email before and after redaction. */
import { afterAll, describe, expect, test } from 'vitest'
import { advance } from '../../../../test/clients/key-client.ts'
import { type Body, type Mailer, mail, mailer, post, simulator } from '../../../../test/clients/mailer.ts'
import { expectRefusal } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { MESSAGE_CONTENT_TTL_DAYS: '30' } })
afterAll(() => t.stop())

const sent = async (by: Mailer, more: Body = {}, key = by.live): Promise<string> => {
  const reply = await by.send(mail(more), { key })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.id
}
const idsOf = (reply: { body: { data: { id: string }[] } }) => reply.body.data.map(({ id }) => id)
const found = async (by: Mailer, query: string, key = by.live) => idsOf(await by.list(`?${query}`, key))
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

describe('the list', () => {
  test('S-133 S-134 SD-42 returns pages, newest first, with the first To address of each email', async () => {
    const own = await mailer(t)
    const ids: string[] = []
    for (const to of [['a@example.com', 'b@example.com'], ['c@example.com'], ['d@example.com']]) {
      ids.unshift(await sent(own, { to, from: 'Acme <x@example.test>' }))
    }
    const one = await own.list('?limit=2')
    expect([one.status, one.body.has_more, idsOf(one)]).toEqual([200, true, ids.slice(0, 2)])
    const two = await own.list(`?limit=2&cursor=${one.body.next_cursor}`)
    expect(two.body).toEqual({
      data: [
        {
          id: ids[2],
          channel: 'email',
          status: 'sent',
          from: 'x@example.test',
          to: 'a@example.com',
          subject: 'Hello',
          created_at: instant,
          sent_at: instant,
          delivered_at: null,
        },
      ],
      has_more: false,
      next_cursor: null,
    })
    expectRefusal(await own.list('?cursor=x'), 'INVALID_CURSOR')
  })

  test('S-135 SD-41 SD-55 filters by each status and rejects unknown ones', async () => {
    const own = await mailer(t)
    const scheduled_at = new Date(t.service.clock.millis() + 3_600_000).toISOString()
    const made: Record<string, string> = {
      sent: await sent(own),
      delivered: await sent(own, { to: [simulator('delivered')] }),
      bounced: await sent(own, { to: [simulator('softbounced')] }),
      scheduled: await sent(own, { scheduled_at }),
      canceled: await sent(own, { scheduled_at }),
      failed: (await own.send(mail({ to: [simulator('refused')] }))).body.error.message_id,
    }
    expect((await t.ask('DELETE', `${post}/${made.canceled}`, { key: own.live })).status).toBe(200)
    for (const [status, id] of Object.entries(made)) {
      await expect.poll(() => found(own, `status=${status}`)).toEqual([id])
    }
    expect(await found(own, 'status=sending')).toEqual([])
    for (const status of ['SENT', 'queued', '']) {
      const errors = [{ path: ['status'], code: 'invalid_enum', message: expect.any(String) }]
      expectRefusal(await own.list(`?status=${status}`), 'VALIDATION_ERROR', { errors })
    }
  })

  test('S-136 SD-28 SD-41 filters by exact tag and by any complete To address, ignoring case', async () => {
    const own = await mailer(t)
    const one = await sent(own, {
      tags: ['Welcome', 'a b'],
      to: ['Ada <Ada@Example.com>', 'bob@example.com'],
    })
    const two = await sent(own, { tags: ['welcome'], cc: ['ada@example.com'], to: ['x@bücher.example'] })
    expect(await found(own, 'tag=Welcome')).toEqual([one])
    expect(await found(own, 'tag=welcome')).toEqual([two])
    expect(await found(own, 'tag=a%20b')).toEqual([one])
    expect(await found(own, 'tag=wel')).toEqual([])
    expect(await found(own, 'to=ADA@example.com')).toEqual([one])
    expect(await found(own, 'to=bob@example.com&tag=Welcome&status=sent')).toEqual([one])
    expect(await found(own, 'to=bob@example.com&tag=welcome')).toEqual([])
    for (const query of ['to=ada@example', 'to=nobody', 'to=%25@example.com', 'to=']) {
      expect(await found(own, query), query).toEqual([])
    }
    expect(await found(own, `to=${encodeURIComponent('x@bücher.example')}`)).toEqual([two])
  })

  test('S-137 SD-41 filters by created_after and created_before, both inclusive', async () => {
    const own = await mailer(t)
    const ids = [await sent(own)]
    await advance(t, 10)
    ids.push(await sent(own))
    const [late, early] = (await own.list()).body.data.map((row: Body) => row.created_at as string)
    expect(await found(own, `created_after=${late}`)).toEqual([ids[1]])
    expect(await found(own, `created_before=${early}`)).toEqual([ids[0]])
    expect(await found(own, `created_after=${early}&created_before=${late}`)).toEqual([ids[1], ids[0]])
    const justAfter = new Date(Date.parse(early) + 1).toISOString().replace('Z', '%2B00:00')
    expect(await found(own, `created_after=${justAfter}`)).toEqual([ids[1]])
    for (const value of ['yesterday', '2026-13-01T00:00:00Z', '1700000000']) {
      for (const name of ['created_after', 'created_before']) {
        const errors = [{ path: [name], code: 'invalid_string', message: expect.any(String) }]
        expectRefusal(await own.list(`?${name}=${value}`), 'VALIDATION_ERROR', { errors })
      }
    }
  })
})

describe('the detail', () => {
  test('S-139 S-141 returns the request and its outcome, and the body only with include=body', async () => {
    const own = await mailer(t)
    const id = await sent(own, {
      from: 'Acme <hello@example.test>',
      to: ['Ada <ada@example.com>'],
      html: '<p>Hi</p>',
      tags: ['a'],
      metadata: { k: 'v' },
      headers: { 'X-A': '1' },
      reply_to: 'r@example.com',
    })
    const plain = await t.ask('GET', `${post}/${id}`, { key: own.live })
    const { created_at } = plain.body
    expect([plain.status, plain.body]).toEqual([
      200,
      {
        id,
        channel: 'email',
        status: 'sent',
        stream: 'transactional',
        from: 'hello@example.test',
        from_name: 'Acme',
        to: ['ada@example.com'],
        cc: [],
        bcc: [],
        reply_to: ['r@example.com'],
        subject: 'Hello',
        headers: { 'X-A': '1' },
        attachments: [],
        track_opens: false,
        track_clicks: false,
        tags: ['a'],
        metadata: { k: 'v' },
        created_at,
        scheduled_at: null,
        sent_at: instant,
        delivered_at: null,
        canceled_at: null,
        redacted_at: null,
        error_message: null,
        provider_response: {
          message_id: expect.stringMatching(/^local_/),
          token: null,
          bounce_type: null,
          bounce_subtype: null,
          detail: null,
        },
        status_history: [{ status: 'sent', at: instant, recipient: null, detail: null }],
        job_id: null,
        tenant_id: null,
      },
    ])
    expect((await own.get(id)).body).toEqual({ ...plain.body, html: '<p>Hi</p>', text: 'Hello, Ada' })
    expect((await t.ask('GET', `${post}/${id}?include=all`, { key: own.live })).status).toBe(422)
  })

  test('S-138 X-288 SD-43 is 404 for other orgs, tenants and environments, and for malformed ids', async () => {
    const own = await mailer(t)
    const other = await mailer(t)
    const [tenantId, otherTenantId] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
    const tenantKey = await t.key(own.orgId, { tenantId })
    const otherTenantKey = await t.key(own.orgId, { tenantId: otherTenantId })
    const ids = {
      live: await sent(own),
      test: await sent(own, {}, own.test),
      tenant: await sent(own, {}, tenantKey),
    }
    const all = [own.live, own.test, tenantKey, otherTenantKey, other.live]
    const seen = async (id: string) => Promise.all(all.map(async (key) => (await own.get(id, key)).status))
    expect(await seen(ids.live)).toEqual([200, 404, 404, 404, 404])
    expect(await seen(ids.test)).toEqual([404, 200, 404, 404, 404])
    expect(await seen(ids.tenant)).toEqual([200, 404, 200, 404, 404])
    for (const id of [newId('message'), 'msg_x', 'x']) expectRefusal(await own.get(id), 'NOT_FOUND')
    expect(await found(own, '', own.live)).toEqual([ids.tenant, ids.live])
    expect(await found(own, '', own.test)).toEqual([ids.test])
    expect(await found(own, '', tenantKey)).toEqual([ids.tenant])
    expect(await found(own, '', otherTenantKey)).toEqual([])
  })
})

test('S-142 S-143 X-359 SD-42 redaction removes only the content, and redacted_at distinguishes it from an email without html', async () => {
  const own = await mailer(t)
  const old = await sent(own, { html: '<p>old</p>', subject: 'Kept', metadata: { k: 'v' } })
  await advance(t, 29 * 86_400)
  const redact = () => t.ask('POST', '/api/dev/run', { body: { task: 'redaction' } })
  await redact()
  expect((await own.get(old)).body).toMatchObject({ html: '<p>old</p>', redacted_at: null })
  const young = await sent(own)
  await advance(t, 86_400 + 60)
  await redact()
  const gone = await own.get(old)
  expect([gone.status, gone.body.html, gone.body.text]).toEqual([200, null, null])
  expect(gone.body).toMatchObject({
    redacted_at: instant,
    subject: 'Kept',
    metadata: { k: 'v' },
    status: 'sent',
  })
  expect((await own.get(young)).body).toMatchObject({ html: null, text: 'Hello, Ada', redacted_at: null })
})
