/** Received messages through the dashboard, and the files that came with emails. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { domainClient } from '../../../../test/clients/domain-client.ts'
import { freshNumber, type PhoneClient, phoneClient } from '../../../../test/clients/phone-client.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())

const idsOf = ({ body }: Reply): string[] => body.data.map(({ id }: { id: string }) => id)
const answer = ({ status, body }: Reply) => [status, body]
const notFound = [404, { error: 'Not found' }]
const encoded = encodeURIComponent

let own: PhoneClient
let viewer: Member
let stranger: Member
beforeAll(async () => {
  own = await phoneClient(t)
  viewer = await person(t, { orgId: own.orgId, role: 'viewer' })
  stranger = await primaryOwner(t, (await t.org()).org.id)
})

describe('received text messages', () => {
  const path = '/api/internal/inbound-sms'
  const [ann, bob] = [freshNumber(), freshNumber()]
  let ids: string[]
  let tenantId: string
  beforeAll(async () => {
    tenantId = await t.tenant(own.orgId)
    const second = freshNumber()
    await own.number(second, { tenantId })
    ids = []
    for (const [from, body, more] of [
      [ann, 'Hello', {}],
      [ann, 'STOP', {}],
      [bob, 'HELP', {}],
      [bob, 'Hi', { to: second }],
    ] as const) {
      ids.push(await own.received(from, body, more))
      await own.advance(60)
    }
  })

  test('A-312 AD-124 are listed newest first in the shape of the API, with opt-outs and requests for help', async () => {
    const reply = await viewer.ask('GET', path)
    const { data } = (await own.inbound('?channel=sms')).body
    expect(answer(reply)).toEqual([200, { data, has_more: false, next_cursor: null }])
    expect(idsOf(reply)).toEqual(ids.toReversed())
    expect(data.map(({ kind }: { kind: string }) => kind)).toEqual(['reply', 'help', 'opt_out', 'reply'])
    expect((await stranger.ask('GET', path)).body.data).toEqual([])
  })

  test('one is read by its id, in its own organisation only', async () => {
    const [id] = ids as [string]
    const { body } = await own.inboundOne(id)
    expect(answer(await viewer.ask('GET', `/api/internal/inbound/${id}`))).toEqual([200, body])
    expect(answer(await stranger.ask('GET', `/api/internal/inbound/${id}`))).toEqual(notFound)
    for (const other of [newId('inboundSms'), newId('message'), 'x']) {
      expect(answer(await viewer.ask('GET', `/api/internal/inbound/${other}`)), other).toEqual(notFound)
    }
  })

  test('AD-124 are filtered by from, to, kind, tenant and time, and paged', async () => {
    const [hello, stop, help, toTenant] = ids as [string, string, string, string]
    const found = async (query: string) => idsOf(await viewer.ask('GET', `${path}?${query}`))
    expect(await found(`from=${encoded(ann)}`)).toEqual([stop, hello])
    expect(await found(`to=${encoded(own.line)}`)).toEqual([help, stop, hello])
    expect(await found('kind=opt_out')).toEqual([stop])
    expect(await found(`tenant_id=${tenantId}`)).toEqual([toTenant])
    const { created_at } = (await own.inboundOne(stop)).body
    expect(await found(`created_after=${encoded(created_at)}`)).toEqual([toTenant, help, stop])
    expect(await found(`created_before=${encoded(created_at)}`)).toEqual([stop, hello])
    expect(await found('from=&to=&kind=&tenant_id=')).toEqual(ids.toReversed())
    const first = await viewer.ask('GET', `${path}?limit=3`)
    expect(await found(`limit=3&cursor=${first.body.next_cursor}`)).toEqual([hello])
    expect((await viewer.ask('GET', `${path}?kind=spam`)).status).toBe(422)
  })
})

describe('received emails', () => {
  const path = '/api/internal/inbound-emails'
  const content = Buffer.from('a\r\nb\n\0\xff', 'latin1')
  const receive = async (raw: string) => (await t.ask('POST', '/api/dev/inbound-email', { body: { raw } })).body
  let id: string
  beforeAll(async () => {
    await domainClient(t, own).added('mail.inbox.test', own.live, { inbound: true })
    await t.ask('POST', '/api/dev/run', { body: { task: 'domains' } })
    const raw = [
      'From: ann@reader.test',
      'To: help@mail.inbox.test',
      'Subject: Files',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/html',
      'Content-Disposition: attachment; filename=page.html',
      'Content-Transfer-Encoding: base64',
      '',
      content.toString('base64'),
      '--b--',
      '',
    ].join('\r\n')
    id = (await receive(raw)).id
  })
  const pathOf = (mail: string, position: number | string = 0) => `${path}/${mail}/attachments/${position}`

  test('AD-124 are listed in the shape of the API, with paths that a session may read', async () => {
    const reply = await viewer.ask('GET', path)
    const { body: shown } = await own.inboundOne(id)
    const attachments = [{ ...shown.attachments[0], url: pathOf(id) }]
    expect(answer(reply)).toEqual([200, { data: [{ ...shown, attachments }], has_more: false, next_cursor: null }])
    expect(answer(await viewer.ask('GET', `/api/internal/inbound/${id}`))).toEqual([
      200,
      { ...shown, attachments: [{ ...attachments[0], content_id: null }] },
    ])
    expect(idsOf(await viewer.ask('GET', `${path}?from=ANN@reader.test&kind=reply`))).toEqual([id])
    expect(idsOf(await viewer.ask('GET', `${path}?to=other@mail.inbox.test`))).toEqual([])
  })

  test('an attachment is a file to save, byte for byte, that a browser never runs', async () => {
    const reply = await fetch(`${t.url}${pathOf(id)}`, { headers: { cookie: viewer.cookie } })
    expect(reply.status).toBe(200)
    expect(Buffer.from(await reply.arrayBuffer())).toEqual(content)
    expect(reply.headers.get('content-type')).toBe('application/octet-stream')
    expect(reply.headers.get('content-disposition')).toMatch(/^attachment; filename="?page\.html/)
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
    expect(reply.headers.get('cache-control')).toBe('private, no-store')
  })

  describe('with pictures in their HTML', () => {
    const rawWith = (messageId: string, ...contentIds: string[]): string =>
      [
        'From: ann@reader.test',
        'To: pictures@mail.inbox.test',
        `Message-ID: <${messageId}@reader.test>`,
        'MIME-Version: 1.0',
        'Content-Type: multipart/related; boundary=b',
        '',
        ...contentIds.flatMap((contentId) => ['--b', 'Content-Type: image/png', `Content-ID: ${contentId}`, '', 'x']),
        '--b--',
        '',
      ].join('\r\n')
    const contentIdsOf = async (mail: string) =>
      (await viewer.ask('GET', `/api/internal/inbound/${mail}`)).body.attachments.map(
        ({ content_id }: { content_id: string | null }) => content_id,
      )

    test('show the content id of each attachment in the detail only', async () => {
      const given = ['<logo@acme>', ' <ii_1/2> ', 'bare', '<>', `<${'x'.repeat(255)}>`, `<${'x'.repeat(256)}>`]
      const { id: mail } = await receive(rawWith('shown', ...given))
      expect(await contentIdsOf(mail)).toEqual(['logo@acme', 'ii_1/2', 'bare', null, 'x'.repeat(255), null])
      const known = { filename: null, content_type: 'image/png', size: 1 }
      const plain = given.map((_, i) => ({ ...known, url: `/api/v1/inbound/${mail}/attachments/${i}` }))
      expect((await own.inboundOne(mail)).body.attachments).toEqual(plain)
      expect((await own.inbound('?channel=email')).body.data[0].attachments).toEqual(plain)
      expect((await own.inboundEvents()).at(-1)?.data.attachments).toEqual(plain)
      const [listed] = (await viewer.ask('GET', path)).body.data
      expect([listed.id, listed.attachments]).toEqual([mail, given.map((_, i) => ({ ...known, url: pathOf(mail, i) }))])
    })

    test('that the previous release stored show none', async () => {
      const { id: mail } = await receive(rawWith('before', '<logo>'))
      const stored = [{ filename: null, content_type: 'image/png', size: 1 }]
      await t.database.sql('update inbound_messages set attachments = $1 where id = $2', [JSON.stringify(stored), mail])
      expect(await contentIdsOf(mail)).toEqual([null])
    })

    test('are recognised without their content ids, as the previous release does', async () => {
      expect((await receive(rawWith('again', '<one>'))).status).toBe('stored')
      expect((await receive(rawWith('again', '<two>'))).status).toBe('repeated')
    })
  })

  test('AD-04 an attachment of another org, an unknown one and a malformed place are not found', async () => {
    expect(answer(await stranger.ask('GET', pathOf(id)))).toEqual(notFound)
    for (const at of [pathOf(id, 1), pathOf(id, '00'), pathOf(id, '-1'), pathOf(newId('inboundEmail')), pathOf('x')]) {
      expect(answer(await viewer.ask('GET', at)), at).toEqual(notFound)
    }
  })
})
