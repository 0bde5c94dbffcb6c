import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tenantClient } from '../../../../test/clients/tenant-client.ts'
import { expectRefusal, type LeavesNoTrace, watchTables } from '../../../../test/expect/refusal.ts'
import { makeTestDatabase } from '../../../../test/service/database.ts'
import { startTestService, type TestService } from '../../../../test/service/service.ts'
import type { CreatedOrg } from '../../../app/operator/create-org.ts'
import { newId, timeOfId } from '../../../platform/ground/ids.ts'
import type { Environment } from '../../../platform/ground/scope.ts'
import type { UnsubscribeRef } from '../../../sending/tracking/tokens.ts'

let t: TestService
let acme: CreatedOrg
let leavesNoTrace: LeavesNoTrace
beforeAll(async () => {
  t = await startTestService()
  acme = await t.org({ name: 'Acme & <Sons>' })
  leavesNoTrace = await watchTables(t.database)
})
afterAll(() => t.stop())

type Sent = { environment?: Environment; tenantId?: string | null; opens?: boolean; clicks?: boolean }
const sent = async (
  { environment = 'live', tenantId = null, opens = true, clicks = true }: Sent = {},
  service = t,
  orgId = acme.org.id,
): Promise<{ orgId: string; messageId: string }> => {
  const messageId = newId('message', service.service.clock.millis())
  await service.database.sql(
    `insert into messages (org_id, id, created_at, tenant_id, environment, project_id, channel, status, from_address,
       to_addresses, track_opens, track_clicks)
     values ($1, $2, $3, $4, $5, 'prj', 'email', 'sent', 'a@example.test', '{ann@example.com}', $6, $7)`,
    [orgId, messageId, new Date(timeOfId(messageId)), tenantId, environment, opens, clicks],
  )
  return { orgId, messageId }
}

const links = () => t.service.modules.links
const pathOf = (url: string): string => url.slice(t.url.length)
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
const load = (message: { orgId: string; messageId: string }, address = '203.0.113.1', method = 'GET') =>
  t.ask(method, pathOf(links().openUrl(message)), from(address))
const follow = (message: { orgId: string; messageId: string }, url: string, address = '203.0.113.1', method = 'GET') =>
  t.ask(method, pathOf(links().clickUrl(message, url)), from(address))

const eventsOf = (orgId: string, messageId: string | null) =>
  t.database.sql(
    `select event, environment, tenant_id, data, created_at from events
     where org_id = $1 and data->>'message_id' is not distinct from $2 order by id`,
    [orgId, messageId],
  )
const rowsOf = (orgId: string, messageId: string | null) =>
  t.database.sql(
    `select kind, environment, tenant_id, channel, recipient, url, address from message_events
     where org_id = $1 and message_id is not distinct from $2 order by id`,
    [orgId, messageId],
  )
const counts = async ({ orgId, messageId }: { orgId: string; messageId: string }) => {
  const [events, rows] = await Promise.all([eventsOf(orgId, messageId), rowsOf(orgId, messageId)])
  return [events.length, rows.length]
}
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })

describe('the open pixel', () => {
  test('X-092 SD-111 is an uncached GIF, and loading it fires message.opened', async () => {
    const tenantId = await t.tenant(acme.org.id)
    const message = await sent({ tenantId })
    const reply = await load(message)
    expect([reply.status, reply.headers['content-type'], reply.headers['content-length']]).toEqual([
      200,
      'image/gif',
      '42',
    ])
    expect(reply.headers['cache-control']).toContain('no-store')
    expect(reply.text.startsWith('GIF89a\u0001\0\u0001\0')).toBe(true)
    await expect.poll(() => counts(message)).toEqual([1, 1])
    expect(await eventsOf(acme.org.id, message.messageId)).toEqual([
      {
        event: 'message.opened',
        environment: 'live',
        tenant_id: tenantId,
        created_at: expect.any(Date),
        data: { message_id: message.messageId, channel: 'email' },
      },
    ])
    expect(await rowsOf(acme.org.id, message.messageId)).toEqual([
      {
        kind: 'opened',
        environment: 'live',
        tenant_id: tenantId,
        channel: 'email',
        recipient: null,
        url: null,
        address: '203.0.113.1',
      },
    ])
  })

  test('X-093 counts once per hour and address', async () => {
    const message = await sent()
    await load(message)
    await load(message)
    await expect.poll(() => counts(message)).toEqual([1, 1])
    await load(message, '203.0.113.2')
    await expect.poll(() => counts(message)).toEqual([2, 2])
    await advance(3_000)
    await load(message)
    expect(await counts(message)).toEqual([2, 2])
    await advance(605)
    await load(message)
    await load(message)
    await expect.poll(() => counts(message)).toEqual([3, 3])
    const other = await sent()
    await load(other)
    await expect.poll(() => counts(other)).toEqual([1, 1])
  })

  test('X-093 counts once for fifty concurrent loads on two processes', async () => {
    const second = await startTestService({ database: t.database })
    const message = await sent()
    const path = pathOf(links().openUrl(message))
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 2 ? t : second).ask('GET', path, from('203.0.113.1'))),
    )
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
    await expect.poll(() => counts(message)).toEqual([1, 1])
    await second.stop()
    expect(await counts(message)).toEqual([1, 1])
  })

  test('counts many concurrent messages separately', async () => {
    const messages = await Promise.all(Array.from({ length: 30 }, () => sent()))
    await Promise.all(messages.flatMap((message) => [load(message), load(message), load(message, '203.0.113.9')]))
    for (const message of messages) await expect.poll(() => counts(message)).toEqual([2, 2])
  })

  test('X-092 fires nothing for a message without open tracking, a missing message or a HEAD request', async () => {
    const untracked = await sent({ opens: false })
    const tracked = await sent()
    const gone = { orgId: acme.org.id, messageId: newId('message', t.service.clock.millis()) }
    const elsewhere = { ...tracked, orgId: (await t.org()).org.id }
    await leavesNoTrace(async () => {
      for (const message of [untracked, gone, elsewhere]) {
        const reply = await load(message)
        expect([reply.status, reply.headers['content-type']]).toEqual([200, 'image/gif'])
      }
      const head = await load(tracked, '203.0.113.1', 'HEAD')
      expect([head.status, head.headers['content-length'], head.text]).toEqual([200, '42', ''])
    })
  })

  test('of an erased tenant still loads and is not counted', async () => {
    const tenantId = await t.tenant(acme.org.id, { status: 'erased' })
    const message = await sent({ tenantId })
    await leavesNoTrace(() => load(message))
  })

  test('of a test message fires the event in the test environment', async () => {
    const message = await sent({ environment: 'test' })
    await load(message)
    await expect.poll(() => eventsOf(acme.org.id, message.messageId)).toMatchObject([{ environment: 'test' }])
    expect(await rowsOf(acme.org.id, message.messageId)).toMatchObject([{ environment: 'test' }])
  })

  test('counts all unreadable addresses as one', async () => {
    const message = await sent()
    for (const address of ['nonsense', 'unknown', '']) await load(message, address)
    await expect.poll(() => counts(message)).toEqual([1, 1])
    expect(await rowsOf(acme.org.id, message.messageId)).toMatchObject([{ address: null }])
  })
})

describe('a tracked link', () => {
  test('X-095 SD-111 redirects with 302 and fires message.clicked', async () => {
    const message = await sent()
    const url = 'https://shop.example/?a=1&b=%20"2"#x'
    const reply = await follow(message, url)
    expect([reply.status, reply.headers.location, reply.text]).toEqual([302, url, ''])
    expect(reply.headers['cache-control']).toContain('no-store')
    await expect.poll(() => counts(message)).toEqual([1, 1])
    expect(await eventsOf(acme.org.id, message.messageId)).toMatchObject([
      { event: 'message.clicked', data: { message_id: message.messageId, channel: 'email', url } },
    ])
    expect(await rowsOf(acme.org.id, message.messageId)).toMatchObject([
      { kind: 'clicked', url, address: '203.0.113.1', recipient: null },
    ])
  })

  test('X-096 X-097 counts once per hour, message, address and URL, and redirects every click', async () => {
    const message = await sent()
    const [one, two] = ['https://shop.example/1', 'https://shop.example/2'] as const
    const replies = await Promise.all(Array.from({ length: 150 }, () => follow(message, one)))
    expect(new Set(replies.map(({ status, headers }) => `${status} ${headers.location}`))).toEqual(
      new Set([`302 ${one}`]),
    )
    await expect.poll(() => counts(message)).toEqual([1, 1])
    await follow(message, two)
    await expect.poll(() => counts(message)).toEqual([2, 2])
    await follow(message, one, '2001:db8::1')
    await expect.poll(() => counts(message)).toEqual([3, 3])
    await advance(3_605)
    expect((await follow(message, one)).headers.location).toBe(one)
    await expect.poll(() => counts(message)).toEqual([4, 4])
  })

  test('X-095 redirects without an event for a message without click tracking, a missing message or a HEAD request', async () => {
    const untracked = await sent({ clicks: false })
    const gone = { orgId: acme.org.id, messageId: newId('message', t.service.clock.millis()) }
    const tracked = await sent()
    await leavesNoTrace(async () => {
      expect((await follow(untracked, 'https://shop.example/')).status).toBe(302)
      expect((await follow(gone, 'https://shop.example/')).status).toBe(302)
      const head = await follow(tracked, 'https://shop.example/', '203.0.113.1', 'HEAD')
      expect([head.status, head.headers.location]).toEqual([302, 'https://shop.example/'])
    })
  })

  test('SD-111 redirects to long and non-ASCII URLs', async () => {
    const message = await sent()
    const long = `https://shop.example/${'x'.repeat(2_000)}`
    expect((await follow(message, long)).headers.location).toBe(long)
    expect((await follow(message, 'https://bücher.example/é x\u{1f600}')).headers.location).toBe(
      'https://xn--bcher-kva.example/%C3%A9%20x%F0%9F%98%80',
    )
  })

  test('SD-111 redirects only to web URLs, even if another one is signed', async () => {
    const message = await sent()
    await leavesNoTrace(async () => {
      for (const url of [
        'javascript:alert(1)',
        'data:text/html,x',
        '//evil.example',
        '/x',
        'ftp://a.example',
        'https://a.example/\r\nSet-Cookie: a=b',
        '',
      ]) {
        const reply = await follow(message, url)
        expect([reply.status, reply.headers.location, reply.headers['set-cookie']]).toEqual([404, undefined, undefined])
      }
    })
  })
})

const unsubscribeRef = (more: Partial<UnsubscribeRef> = {}): UnsubscribeRef => ({
  orgId: acme.org.id,
  tenantId: null,
  environment: 'live',
  messageId: null,
  address: `ann-${newId('request')}@example.com`,
  ...more,
})
const form = 'application/x-www-form-urlencoded'
const post = (ref: UnsubscribeRef, raw: string | Buffer = 'List-Unsubscribe=One-Click', type = form) =>
  t.ask('POST', pathOf(links().unsubscribeUrl(ref)), { raw, headers: { 'content-type': type } })
const press = (ref: UnsubscribeRef) => post(ref, 'confirm=unsubscribe')
const view = (ref: UnsubscribeRef) => t.ask('GET', pathOf(links().unsubscribeUrl(ref)))
const titleOf = ({ text }: { text: string }) => text.match(/<h1>(.*)<\/h1>/)?.[1]
const suppressionsOf = ({ orgId, address }: UnsubscribeRef) =>
  t.database.sql(
    `select tenant_id, channel, reason, source, message_id, created_environment from suppressions
     where org_id = $1 and value = $2`,
    [orgId, address.toLowerCase()],
  )
const eventsFor = (ref: UnsubscribeRef) =>
  t.database.sql(
    "select event, environment, tenant_id, data from events where org_id = $1 and data->>'recipient' = $2 order by id",
    [ref.orgId, ref.address.toLowerCase()],
  )

describe('the unsubscribe link', () => {
  test('SD-112 changes nothing when the page is only viewed', async () => {
    const ref = unsubscribeRef({ address: '"a<b>&\'c"@example.com' })
    await leavesNoTrace(async () => {
      for (let i = 0; i < 3; i++) {
        const reply = await view(ref)
        expect([reply.status, titleOf(reply)]).toEqual([200, 'Unsubscribe?'])
        expect(reply.text).toContain('<bdi>&quot;a&lt;b&gt;&amp;&#39;c&quot;@example.com</bdi>')
        expect(reply.text).toContain('<bdi>Acme &amp; &lt;Sons&gt;</bdi>')
        expect(reply.text).toContain('<form method="post">')
      }
      const head = await t.ask('HEAD', pathOf(links().unsubscribeUrl(ref)))
      expect([head.status, head.text]).toEqual([200, ''])
    })
  })

  test('shows a page without external resources or scripts that is not indexed, framed or cached', async () => {
    const { headers, text } = await view(unsubscribeRef())
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    )
    expect([headers['cache-control'], headers['x-robots-tag'], headers['referrer-policy']]).toEqual([
      'no-store',
      'noindex, nofollow',
      'no-referrer',
    ])
    expect(text).toContain('<html lang="en">')
    expect(text).not.toMatch(/<script|<link|src=|url\(|@import/)
  })

  test('S-424 X-098 X-099 SD-112 suppresses broadcast mail on one-click and fires message.unsubscribed', async () => {
    const tenantId = await t.tenant(acme.org.id)
    const { messageId } = await sent({ tenantId })
    const ref = unsubscribeRef({ tenantId, messageId, address: 'Ann.Lee@Example.com' })
    const reply = await post(ref)
    expect([reply.status, titleOf(reply)]).toEqual([200, 'You are unsubscribed'])
    expect(await suppressionsOf(ref)).toEqual([
      {
        tenant_id: tenantId,
        channel: 'email',
        reason: 'unsubscribe',
        source: 'one_click',
        message_id: messageId,
        created_environment: 'live',
      },
    ])
    expect(await eventsFor(ref)).toEqual([
      {
        event: 'message.unsubscribed',
        environment: 'live',
        tenant_id: tenantId,
        data: {
          channel: 'email',
          recipient: 'ann.lee@example.com',
          message_id: messageId,
          source: 'one_click',
        },
      },
    ])
    expect(await rowsOf(acme.org.id, messageId)).toEqual([
      {
        kind: 'unsubscribed',
        environment: 'live',
        tenant_id: tenantId,
        channel: 'email',
        url: null,
        recipient: 'ann.lee@example.com',
        address: null,
      },
    ])
    const list = await t.ask('GET', '/api/v1/suppressions?value=ann.lee@example.com&channel=email', {
      key: acme.keys.live,
    })
    expect(list.body.data).toMatchObject([{ reason: 'unsubscribe', scope: 'broadcast', tenant_id: tenantId }])
  })

  test('X-099 X-100 SD-112 records the button of the page as email_link, with a null message_id if there is no message', async () => {
    const ref = unsubscribeRef()
    expect(titleOf(await press(ref))).toBe('You are unsubscribed')
    expect(await suppressionsOf(ref)).toMatchObject([{ tenant_id: null, source: 'email_link', message_id: null }])
    expect(await eventsFor(ref)).toMatchObject([
      { data: { channel: 'email', recipient: ref.address, message_id: null, source: 'email_link' } },
    ])
  })

  test('SD-112 returns 200 without an event for repeated requests, and the page shows it', async () => {
    const ref = unsubscribeRef({ messageId: (await sent()).messageId })
    await post(ref)
    await leavesNoTrace(async () => {
      for (const reply of [await post(ref), await press(ref), await view(ref)]) {
        expect([reply.status, titleOf(reply)]).toEqual([200, 'You are already unsubscribed'])
      }
    })
    // A link in another message to the same recipient does not count again.
    await post({ ...ref, messageId: (await sent()).messageId })
    expect(await eventsFor(ref)).toHaveLength(1)
  })

  test('SD-112 works again after the suppression is removed', async () => {
    const ref = unsubscribeRef()
    await post(ref)
    const query = `channel=email&value=${ref.address}`
    expect((await t.ask('DELETE', `/api/v1/suppressions?${query}`, { key: acme.keys.live })).status).toBe(200)
    expect(titleOf(await view(ref))).toBe('Unsubscribe?')
    expect(titleOf(await post(ref))).toBe('You are unsubscribed')
    expect(await eventsFor(ref)).toHaveLength(2)
  })

  test.for(['live', 'test'] as const)('X-098 fires once for twenty concurrent requests: %s', async (environment) => {
    const ref = unsubscribeRef({ environment, messageId: (await sent({ environment })).messageId })
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 ? post(ref) : press(ref))))
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(replies.filter((reply) => titleOf(reply) === 'You are unsubscribed')).toHaveLength(1)
    expect(await eventsFor(ref)).toHaveLength(1)
    expect(await suppressionsOf(ref)).toHaveLength(environment === 'live' ? 1 : 0)
  })

  test.for(['bounce', 'manual', 'complaint', 'stop'])(
    'X-098 keeps an existing %s suppression and fires one event',
    async (reason) => {
      const ref = unsubscribeRef({ messageId: (await sent()).messageId })
      await t.service.db.tx((tx) =>
        t.service.modules.suppress(tx, {
          orgId: ref.orgId,
          tenantId: null,
          channel: 'email',
          value: ref.address,
          source: 'provider',
          reason: reason as 'bounce',
          messageId: null,
          environment: 'live',
        }),
      )
      const before = await suppressionsOf(ref)
      expect(before).toMatchObject([{ reason, source: 'provider' }])
      expect([titleOf(await post(ref)), titleOf(await post(ref))]).toEqual([
        'You are unsubscribed',
        'You are already unsubscribed',
      ])
      expect(await suppressionsOf(ref)).toEqual(before)
      expect(await eventsFor(ref)).toHaveLength(1)
    },
  )

  test('X-098 of a test message fires a test event and adds no suppression', async () => {
    const ref = unsubscribeRef({ environment: 'test', messageId: (await sent({ environment: 'test' })).messageId })
    expect(titleOf(await post(ref))).toBe('You are unsubscribed')
    expect(titleOf(await post(ref))).toBe('You are already unsubscribed')
    expect(await suppressionsOf(ref)).toEqual([])
    expect(await eventsFor(ref)).toMatchObject([{ environment: 'test', data: { source: 'one_click' } }])
  })

  test('SD-112 affects only its own tenant', async () => {
    const [one, two] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const ref = unsubscribeRef({ tenantId: one })
    await post(ref)
    expect(titleOf(await view({ ...ref, tenantId: two }))).toBe('Unsubscribe?')
    expect(titleOf(await view({ ...ref, tenantId: null }))).toBe('Unsubscribe?')
    await post({ ...ref, tenantId: two })
    expect((await suppressionsOf(ref)).map((row) => row.tenant_id).sort()).toEqual([one, two].sort())
  })

  test.for(['live', 'test'] as const)(
    'AD-107 SD-112 of an erased tenant returns 200 without effect: %s',
    async (environment) => {
      const tenants = tenantClient(t, acme)
      const tenantId = await tenants.made()
      const ref = unsubscribeRef({ tenantId, environment })
      expect(titleOf(await post(ref))).toBe('You are unsubscribed')
      await tenants.move('archive', tenantId)
      await tenants.move('erase', tenantId)
      expect(await suppressionsOf(ref)).toEqual([])
      const unused = unsubscribeRef({ tenantId, environment })
      await leavesNoTrace(async () => {
        for (const each of [ref, unused]) {
          for (const reply of [await post(each), await press(each), await view(each)]) {
            expect([reply.status, titleOf(reply)]).toEqual([200, 'You are already unsubscribed'])
          }
        }
      })
    },
  )

  test('AD-107 has no effect once the erasure of its tenant starts, even concurrently', async () => {
    const tenantId = await t.tenant(acme.org.id, { status: 'archived' })
    const ref = unsubscribeRef({ tenantId })
    const client = new pg.Client(t.database.url)
    await client.connect()
    await client.query('begin')
    await client.query("update tenants set erasure = '{}' where id = $1", [tenantId])
    const reply = post(ref)
    await expect
      .poll(() =>
        t.database.sql(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        ),
      )
      .not.toEqual([])
    await client.query('commit')
    await client.end()
    expect([(await reply).status, await suppressionsOf(ref), await eventsFor(ref)]).toEqual([200, [], []])
  })

  test('of a suspended org still works', async () => {
    const { org } = await t.org()
    await t.database.sql('update orgs set suspended_at = $2 where id = $1', [org.id, t.service.clock.now()])
    const ref = unsubscribeRef({ orgId: org.id })
    expect((await post(ref)).status).toBe(200)
    expect(await suppressionsOf(ref)).toHaveLength(1)
  })

  test('of a deleted org is not valid', async () => {
    await leavesNoTrace(async () => {
      const ref = unsubscribeRef({ orgId: newId('org') })
      for (const reply of [await view(ref), await post(ref), await post({ ...ref, environment: 'test' })]) {
        expect([reply.status, titleOf(reply)]).toEqual([404, 'This link is not valid'])
      }
    })
  })
})

const multipart = (name: string, value: string, boundary = 'x7', lines = '\r\n') =>
  [`--${boundary}`, `Content-Disposition: form-data; name="${name}"`, '', value, `--${boundary}--`, ''].join(lines)

describe('an unsubscribe request', () => {
  test.for([
    ['a form', form, 'List-Unsubscribe=One-Click'],
    ['a form with a charset', `${form}; charset=UTF-8`, 'List-Unsubscribe=One-Click'],
    ['a form with a line break', form, 'List-Unsubscribe=One-Click\r\n'],
    ['multipart', 'multipart/form-data; boundary=x7', multipart('List-Unsubscribe', 'One-Click')],
    [
      'multipart with a quoted boundary',
      'Multipart/Form-Data; boundary="x7"',
      multipart('List-Unsubscribe', 'One-Click'),
    ],
    ['plain text', 'text/plain', 'List-Unsubscribe=One-Click'],
    ['bytes of an unknown type', 'application/octet-stream', 'List-Unsubscribe=One-Click'],
  ])('SD-112 accepts RFC 8058 one-click as %s', async ([, type, raw]) => {
    const ref = unsubscribeRef()
    expect((await post(ref, raw, type)).status).toBe(200)
    expect(await suppressionsOf(ref)).toMatchObject([{ source: 'one_click' }])
  })

  test('SD-112 accepts one-click without a content type', async () => {
    const ref = unsubscribeRef()
    const body = Buffer.from('List-Unsubscribe=One-Click')
    expect((await fetch(links().unsubscribeUrl(ref), { method: 'POST', body })).status).toBe(200)
    expect(await suppressionsOf(ref)).toMatchObject([{ source: 'one_click' }])
  })

  test.for([
    ['an empty form', form, ''],
    ['another value', form, 'List-Unsubscribe=Two-Clicks'],
    ['another name', form, 'Unsubscribe=One-Click'],
    ['another confirmation', form, 'confirm=yes'],
    ['JSON', 'application/json', '{"List-Unsubscribe":"One-Click"}'],
    ['multipart without a boundary', 'multipart/form-data', multipart('List-Unsubscribe', 'One-Click')],
    ['multipart with another boundary', 'multipart/form-data; boundary=y', multipart('List-Unsubscribe', 'One-Click')],
    ['a file', 'multipart/form-data; boundary=x7', multipart('List-Unsubscribe"; filename="a', 'One-Click')],
  ])('SD-112 returns 422 and asks for confirmation for %s', async ([, type, raw]) => {
    await leavesNoTrace(async () => {
      const reply = await post(unsubscribeRef(), raw, type)
      expect([reply.status, titleOf(reply)]).toEqual([422, 'Unsubscribe?'])
    })
  })

  test('rejects a body larger than 8 KB', async () => {
    const ref = unsubscribeRef()
    const reply = await leavesNoTrace(() => post(ref, `List-Unsubscribe=One-Click&x=${'x'.repeat(8_192)}`))
    expectRefusal(reply, 'PAYLOAD_TOO_LARGE', { message: 'The request body exceeds 8 KB. Send a smaller body.' })
    expect((await post(ref, `List-Unsubscribe=One-Click&x=${'x'.repeat(8_000)}`)).status).toBe(200)
  })

  test.each(['text/plain', 'application/json', 'application/octet-stream'])(
    'reads a body of type %s as a form, and refuses a compressed one',
    async (type) => {
      const ref = unsubscribeRef()
      const oneClick = 'List-Unsubscribe=One-Click'
      const path = pathOf(links().unsubscribeUrl(ref))
      const headers = { 'content-type': type, 'content-encoding': 'gzip' }
      const compressed = await leavesNoTrace(() => t.ask('POST', path, { raw: oneClick, headers }))
      expectRefusal(compressed, 'UNSUPPORTED_MEDIA_TYPE', {
        message: 'The request body must not be compressed. Send it without Content-Encoding.',
      })
      expect((await post(ref, oneClick, type)).status).toBe(200)
    },
  )

  test('returns 422 or 415 for arbitrary bytes of any type', async () => {
    const ref = unsubscribeRef()
    const type = fc.oneof(
      fc.constantFrom(form, 'multipart/form-data; boundary=x7', 'multipart/form-data', 'text/plain', '*/*', ';'),
      fc.string({ maxLength: 40 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, '')),
    )
    const pieces = fc.constantFrom(
      '--x7',
      '--',
      '\r\n',
      '\n',
      'Content-Disposition: form-data; name="',
      '"',
      'a',
      '=',
      '&',
      '%',
      ';',
      'Content-Type: text/plain',
      'Content-Transfer-Encoding: base64',
      'filename*=utf-8',
      '\0',
      'é',
      ': ',
    )
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.array(pieces, { maxLength: 30 }).map((parts) => Buffer.from(parts.join(''))),
    )
    await leavesNoTrace(() =>
      fc.assert(
        fc.asyncProperty(type, body, async (given, raw) => {
          const reply = await post(ref, raw, given)
          // The body is not read if the content type is malformed.
          if (reply.status === 415) expectRefusal(reply, 'UNSUPPORTED_MEDIA_TYPE')
          else expect([reply.status, titleOf(reply)]).toEqual([422, 'Unsubscribe?'])
        }),
        { numRuns: 150 },
      ),
    )
  })
})

test('X-097 pixel and links of a message that has reached 10,000 hits in the hour still work and write nothing', async () => {
  const message = await sent()
  await t.database.sql(
    'insert into tracking_windows (org_id, message_id, started_at, hits) values ($1, $2, $3, 10000)',
    [acme.org.id, message.messageId, t.service.clock.now()],
  )
  await leavesNoTrace(async () => {
    for (const address of ['203.0.113.1', '203.0.113.2']) {
      const gif = await load(message, address)
      expect([gif.status, gif.headers['content-type'], gif.headers['content-length']]).toEqual([200, 'image/gif', '42'])
      const click = await follow(message, 'https://shop.example/', address)
      expect([click.status, click.headers.location]).toEqual([302, 'https://shop.example/'])
    }
  })
  await advance(3_605)
  await load(message)
  await expect.poll(() => counts(message)).toEqual([1, 1])
})

describe('tokens without a valid signature', () => {
  const token = () => pathOf(links().unsubscribeUrl(unsubscribeRef())).slice('/u/'.length)
  test('S-423 SD-111 SD-112 return 404 on every route, without a redirect or an effect', async () => {
    const message = await sent()
    const open = pathOf(links().openUrl(message)).slice('/t/o/'.length)
    const click = pathOf(links().clickUrl(message, 'https://shop.example/')).slice('/t/c/'.length)
    const altered = (text: string) => (text[0] === 'A' ? 'B' : 'A') + text.slice(1)
    const raw = 'List-Unsubscribe=One-Click'
    await leavesNoTrace(async () => {
      for (const bad of [altered(open), open.slice(0, -1), click, token(), 'x', '', `${open}/x`, `${open}%00`]) {
        expectRefusal(await t.ask('GET', `/t/o/${bad}`), 'NOT_FOUND')
      }
      for (const bad of [
        altered(click),
        click.slice(1),
        open,
        token(),
        'https://evil.example/',
        '%2f%2fevil.example',
      ]) {
        const reply = await t.ask('GET', `/t/c/${bad}?url=https://evil.example/`)
        expect([reply.status, reply.headers.location, titleOf(reply)]).toEqual([
          404,
          undefined,
          'This link is not valid',
        ])
      }
      for (const bad of [altered(token()), `${token()}A`, open, click, '', '../u', '%ff']) {
        for (const reply of [await t.ask('GET', `/u/${bad}`), await t.ask('POST', `/u/${bad}`, { raw })]) {
          expect([reply.status, reply.headers.location]).toEqual([404, undefined])
        }
      }
    })
  })

  test('S-423 return 404 for arbitrary paths, as a page or an error body', async () => {
    const route = fc.constantFrom('/t/o/', '/t/c/', '/u/')
    const rest = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }).map((text) => encodeURIComponent(text.toWellFormed())),
      fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/[^\x21-\x7e]|[#?\\]/g, '')),
      fc.base64String({ maxLength: 200 }),
    )
    await leavesNoTrace(() =>
      fc.assert(
        fc.asyncProperty(route, rest, fc.constantFrom('GET', 'HEAD', 'POST'), async (path, bad, method) => {
          const allowed = method === 'POST' && path !== '/u/' ? 'GET' : method
          const reply = await t.ask(allowed, path + bad, allowed === 'POST' ? { raw: 'confirm=unsubscribe' } : {})
          expect([reply.status, reply.headers.location]).toEqual([404, undefined])
        }),
        { numRuns: 150 },
      ),
    )
  })

  test('other methods return 405 with Allow', async () => {
    const path = pathOf(links().openUrl(await sent()))
    await leavesNoTrace(async () => {
      const reply = await t.ask('POST', path, { body: {} })
      expectRefusal(reply, 'METHOD_NOT_ALLOWED')
      expect(reply.headers.allow).toBe('GET, HEAD')
      const other = await t.ask('DELETE', `/u/${token()}`)
      expect([other.status, other.headers.allow]).toEqual([405, 'GET, HEAD, POST'])
    })
  })
})

describe('while the database is down', () => {
  test('X-097 SD-111 SD-112 pixel and links still work, and unsubscribing asks to try again', async () => {
    const database = await makeTestDatabase()
    const service = await startTestService({ database })
    const name = new URL(database.url).pathname.slice(1)
    const { org } = await service.org()
    const message = await sent({}, service, org.id)
    const own = service.service.modules.links
    const ask = (url: string, method = 'GET', raw?: string) =>
      service.ask(
        method,
        url.slice(service.url.length),
        raw === undefined ? {} : { raw, headers: { 'content-type': form } },
      )
    await t.database.sql(`alter database ${name} with allow_connections false`)
    await t.database.sql('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    await expect.poll(async () => (await service.ask('GET', '/readyz')).status).toBe(503)

    const gif = await ask(own.openUrl(message))
    expect([gif.status, gif.headers['content-type']]).toEqual([200, 'image/gif'])
    const click = await ask(own.clickUrl(message, 'https://shop.example/'))
    expect([click.status, click.headers.location]).toEqual([302, 'https://shop.example/'])
    const leave = own.unsubscribeUrl(unsubscribeRef({ orgId: org.id }))
    for (const reply of [await ask(leave), await ask(leave, 'POST', 'List-Unsubscribe=One-Click')]) {
      expect([reply.status, titleOf(reply), reply.headers['retry-after']]).toEqual([503, 'Please try again', '60'])
    }

    await t.database.sql(`alter database ${name} with allow_connections true`)
    await expect.poll(async () => (await service.ask('GET', '/readyz')).status).toBe(200)
    expect((await ask(leave, 'POST', 'List-Unsubscribe=One-Click')).status).toBe(200)
    await service.stop()
    await database.drop()
  })

  test('X-097 a slow database does not delay a redirect, and the click is counted later', async () => {
    const message = await sent()
    const client = new pg.Client(t.database.url)
    await client.connect()
    await client.query('begin')
    await client.query('lock table tracking_marks in access exclusive mode')
    const reply = await follow(message, 'https://shop.example/')
    expect([reply.status, reply.headers.location]).toEqual([302, 'https://shop.example/'])
    expect(await counts(message)).toEqual([0, 0])
    await client.query('commit')
    await client.end()
    await expect.poll(() => counts(message)).toEqual([1, 1])
  })
})

test('retention deletes only marks and counters older than two hours', async () => {
  const [old, young] = [await sent(), await sent()]
  await load(old)
  await advance(7_195)
  await load(young)
  await expect.poll(() => counts(young)).toEqual([1, 1])
  await advance(10)
  const { body } = await t.ask('POST', '/api/dev/run', { body: { task: 'retention' } })
  expect(body.counts.tracking_marks_deleted).toBeGreaterThanOrEqual(1)
  expect(body.counts.tracking_windows_deleted).toBeGreaterThanOrEqual(1)
  for (const table of ['tracking_marks', 'tracking_windows']) {
    expect(await t.database.sql(`select message_id from ${table}`)).toEqual([{ message_id: young.messageId }])
  }
})
