/** The content of attachments of received emails. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { domainClient } from '../../../test/clients/domain-client.ts'
import { type PhoneClient, phoneClient } from '../../../test/clients/phone-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off', MESSAGE_CONTENT_TTL_DAYS: '30' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

type Sent = { type: string; name?: string; content: Buffer }

const mimeOf = (to: string, files: readonly Sent[]): string => {
  const parts = files.flatMap(({ type, name, content }) => [
    '--b',
    `Content-Type: ${type}`,
    `Content-Disposition: attachment${name === undefined ? '' : `; filename*=UTF-8''${encodeURIComponent(name)}`}`,
    'Content-Transfer-Encoding: base64',
    '',
    ...(content.toString('base64').match(/.{1,76}/g) ?? []),
  ])
  const head = ['From: ann@reader.test', `To: ${to}`, 'Subject: Files', 'MIME-Version: 1.0']
  return [...head, 'Content-Type: multipart/mixed; boundary=b', '', ...parts, '--b--', ''].join('\r\n')
}

let domains = 0
/** An inbound domain of the org, or of one of its tenants. */
const inboxOf = async (own: PhoneClient, tenantId?: string) => {
  const name = `files${++domains}.inbox.test`
  await domainClient(t, own).added(name, own.live, { inbound: true, ...(tenantId && { tenant_id: tenantId }) })
  await t.ask('POST', '/api/dev/run', { body: { task: 'domains' } })
  const receive = async (files: readonly Sent[], head = ''): Promise<string> => {
    const reply = await t.ask('POST', '/api/dev/inbound-email', { body: { raw: head + mimeOf(`help@${name}`, files) } })
    expect(reply.body).toMatchObject({ status: expect.stringMatching(/stored|repeated/) })
    return reply.body.id
  }
  return { name, receive }
}

const pathOf = (id: string, position: number | string = 0): string => `/api/v1/inbound/${id}/attachments/${position}`

const download = async (path: string, key: string) => {
  const reply = await fetch(`${t.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
  return { status: reply.status, headers: reply.headers, bytes: Buffer.from(await reply.arrayBuffer()) }
}

const stored = (orgId: string) =>
  t.database.sql<{ inbound_id: string; position: number }>(
    'select inbound_id, position from inbound_attachments where org_id = $1 order by inbound_id, position',
    [orgId],
  )

const noise = Buffer.from(Array.from({ length: 3_000 }, (_, i) => (i * 7) % 256))

describe('the content of an attachment', () => {
  let own: PhoneClient
  let inbox: Awaited<ReturnType<typeof inboxOf>>
  beforeAll(async () => {
    own = await phoneClient(t)
    inbox = await inboxOf(own)
  })

  test('is returned byte for byte at the path that the read, the list and the event show', async () => {
    const files = [
      { type: 'image/png', name: 'photo.png', content: noise },
      { type: 'text/plain', name: 'empty.txt', content: Buffer.alloc(0) },
      { type: 'application/zip', name: 'a.zip', content: Buffer.from('a\r\nb\n\0') },
    ]
    const id = await inbox.receive(files)
    const { attachments } = (await own.inboundOne(id)).body
    expect(attachments).toEqual(
      files.map(({ type, name, content }, i) => ({
        filename: name,
        content_type: type,
        size: content.length,
        url: pathOf(id, i),
      })),
    )
    expect((await own.inbound()).body.data[0].attachments).toEqual(attachments)
    expect((await own.inboundEvents()).at(-1)?.data.attachments).toEqual(attachments)
    for (const [i, { type, content }] of files.entries()) {
      const reply = await download(attachments[i].url, own.live)
      expect([reply.status, reply.headers.get('content-type'), reply.bytes]).toEqual([200, type, content])
    }
    expect((await download(pathOf(id), own.test)).bytes).toEqual(noise)
  })

  test('is saved by browsers, and never shown as a page', async () => {
    const id = await inbox.receive([{ type: 'image/png', name: 'photo.png', content: noise }])
    const { headers } = await download(pathOf(id), own.live)
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': '3000',
      'content-disposition': 'attachment; filename="photo.png"',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, no-store',
      'x-request-id': expect.stringMatching(/^req_/),
    })
  })

  test('with a dangerous type and name gets harmless ones', async () => {
    const name = '../\u202eGr\u00f6\u00dfe"\r\nX-Evil: 1.html'
    const id = await inbox.receive([{ type: 'text/html', name, content: Buffer.from('<script>') }])
    const { headers } = await download(pathOf(id), own.live)
    expect([headers.get('content-type'), headers.get('content-disposition'), headers.get('x-evil')]).toEqual([
      'application/octet-stream',
      'attachment; filename="Gr__e_X-Evil_ 1.html"; filename*=UTF-8\'\'Gr%C3%B6%C3%9Fe_X-Evil_%201.html',
      null,
    ])
  })

  test('is not found at a position that the email does not have, or for an id that has none', async () => {
    const id = await inbox.receive([{ type: 'text/plain', content: noise }])
    const sms = await own.received('+12065550001', 'Hello')
    await leavesNoTrace(async () => {
      for (const position of [1, 100, '00', '-1', '1.0', '1e0', '0x0', '99999999999', 'x', '%00', '+0', ' ']) {
        expectRefusal(await t.ask('GET', pathOf(id, position), { key: own.live }), 'NOT_FOUND')
      }
      expectRefusal(await t.ask('GET', pathOf(sms), { key: own.live }), 'NOT_FOUND')
    })
  })

  test('is stored once if the email is delivered again, and up to a hundred of one email', async () => {
    const org = await phoneClient(t)
    const { receive } = await inboxOf(org)
    const many = Array.from({ length: 101 }, (_, i) => ({ type: 'text/plain', content: Buffer.from(`${i}`) }))
    const id = await receive(many, 'Message-ID: <many@reader.test>\r\n')
    expect(await receive(many, 'Message-ID: <many@reader.test>\r\n')).toBeNull()
    const rows = await stored(org.orgId)
    expect(rows).toEqual(Array.from({ length: 100 }, (_, position) => ({ inbound_id: id, position })))
    expect((await org.inboundOne(id)).body.attachments).toHaveLength(100)
    expect((await download(pathOf(id, 99), org.live)).bytes.toString()).toBe('99')
  })

  test('of several megabytes is whole', async () => {
    const content = Buffer.alloc(4_000_000, 'abcdefg')
    const id = await inbox.receive([{ type: 'application/zip', content }])
    expect((await download(pathOf(id), own.live)).bytes.equals(content)).toBe(true)
  })
})

test('XD-09 Attachments are hidden from other tenants, other orgs and keys without the scope', async () => {
  const own = await phoneClient(t)
  const stranger = await phoneClient(t)
  const [a, b] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
  const id = await (await inboxOf(own, a)).receive([{ type: 'text/plain', content: noise }])
  const keyOf = (tenantId: string) => t.key(own.orgId, { tenantId })
  expect((await download(pathOf(id), await keyOf(a))).status).toBe(200)
  const others = [await keyOf(b), stranger.live]
  const unscoped = await t.key(own.orgId, { scopes: ['read:emails'] })
  await leavesNoTrace(async () => {
    for (const key of others) expectRefusal(await t.ask('GET', pathOf(id), { key }), 'NOT_FOUND')
    expectRefusal(await t.ask('GET', pathOf(id), { key: unscoped }), 'INSUFFICIENT_SCOPE')
  })
})

test('R-08 XD-35 Redaction deletes attachments, and leaves their names without a URL', async () => {
  const own = await phoneClient(t)
  const { receive } = await inboxOf(own)
  const id = await receive([{ type: 'text/plain', name: 'a.txt', content: noise }])
  const run = () => t.ask('POST', '/api/dev/run', { body: { task: 'redaction' } })
  await own.advance(29 * 86_400)
  const recent = await receive([{ type: 'text/plain', name: 'b.txt', content: noise }])
  await run()
  expect((await download(pathOf(id), own.live)).status).toBe(200)
  await own.advance(86_401)
  await run()
  expectRefusal(await t.ask('GET', pathOf(id), { key: own.live }), 'NOT_FOUND')
  expect((await own.inboundOne(id)).body.attachments).toEqual([
    { filename: 'a.txt', content_type: 'text/plain', size: 3000, url: null },
  ])
  expect(await stored(own.orgId)).toEqual([{ inbound_id: recent, position: 0 }])
})

test('AD-107 Erasing a tenant deletes its attachments, and deleting the org those of the org', async () => {
  const own = await phoneClient(t)
  const tenants = tenantClient(t, { org: { id: own.orgId }, keys: { live: own.live, test: own.test } } as never)
  const tenant = await tenants.made()
  const file = { type: 'text/plain', content: noise }
  const ofTenant = await (await inboxOf(own, tenant)).receive([file])
  const ofOrg = await (await inboxOf(own)).receive([file])
  expect((await tenants.move('archive', tenant)).status).toBe(200)
  const erased = await tenants.move('erase', tenant)
  expect([erased.status, erased.body.inbound_deleted]).toEqual([200, 1])
  expectRefusal(await t.ask('GET', pathOf(ofTenant), { key: own.live }), 'NOT_FOUND')
  expect(await stored(own.orgId)).toEqual([{ inbound_id: ofOrg, position: 0 }])
  const cascades = await t.database.sql(
    `select confrelid::regclass::text as parent from pg_constraint
     where conrelid in ('inbound_attachments'::regclass, 'inbound_messages'::regclass) and contype = 'f'
       and confdeltype = 'c' order by 1`,
  )
  expect(cascades).toEqual([{ parent: 'inbound_messages' }, { parent: 'orgs' }])
})
