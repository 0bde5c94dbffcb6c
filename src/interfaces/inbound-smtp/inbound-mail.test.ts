/** Email for inbound domains, delivered over SMTP. */
import { afterAll, describe, expect, test } from 'vitest'
import { domainClient } from '../../../test/clients/domain-client.ts'
import { deliver } from '../../../test/clients/inbound-mail.ts'
import { phoneClient } from '../../../test/clients/phone-client.ts'
import { postOf } from '../../../test/clients/post-client.ts'
import { watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService({ env: { INBOUND_SMTP_PORT: '0', RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const port = t.service.inboundSmtpPort() as number
const leavesNoTrace = await watchTables(t.database)
const accepted = '250 2.0.0 Accepted.'
const unknownMailbox = '550 5.1.1 There is no such mailbox here.'

let domains = 0
const withDomain = async (more: object = {}) => {
  const own = await phoneClient(t)
  const name = `mx${++domains}.inbox.test`
  const manage = domainClient(t, own)
  const id = await manage.added(name, own.live, { inbound: true, ...more })
  await t.ask('POST', '/api/dev/run', { body: { task: 'domains' } })
  const received = async () => (await own.inboundEvents()).filter(({ event }) => event === 'inbound.email')
  return { own, name, id, manage, received }
}

const mail = (to: string, more: string[] = [], body = 'Hello?') =>
  ['From: Ann <ann@reader.test>', `To: ${to}`, 'Subject: A question', ...more, '', body].join('\r\n')

describe('an email', () => {
  test('X-114 S-255 to any address of a verified inbound domain is stored and fires inbound.email', async () => {
    const { own, name, received } = await withDomain()
    const to = `anything@${name}`
    const parts = [
      'Message-ID: <m-1@reader.test>',
      'In-Reply-To: <x@y.test>',
      'Cc: Bob <BOB@reader.test>',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
    ]
    const body = [
      '--b',
      'Content-Type: text/plain',
      '',
      'Hello?',
      '--b',
      'Content-Type: image/png; name="photo.png"',
      'Content-Disposition: attachment; filename="photo.png"',
      'Content-Transfer-Encoding: base64',
      '',
      Buffer.alloc(300).toString('base64'),
      '--b--',
    ].join('\r\n')
    expect(await deliver(port, to, mail(`Help <${to}>`, parts, body), 'ann@reader.test')).toBe(accepted)
    const [stored, ...others] = (await own.inbound()).body.data
    const url = `/api/v1/inbound/${stored.id}/attachments/0`
    const attachments = [{ filename: 'photo.png', content_type: 'image/png', size: 300, url }]
    expect([stored, others]).toEqual([
      {
        id: expect.stringMatching(/^iem_/),
        channel: 'email',
        from: 'ann@reader.test',
        to: [to],
        subject: 'A question',
        text: 'Hello?',
        html: null,
        attachments,
        kind: 'reply',
        in_reply_to: '<x@y.test>',
        tenant_id: null,
        received_at: expect.any(String),
        created_at: expect.any(String),
      },
      [],
    ])
    expect((await own.inboundOne(stored.id)).body).toEqual(stored)
    expect(await received()).toEqual([
      {
        event: 'inbound.email',
        tenant_id: null,
        environment: 'live',
        data: {
          id: stored.id,
          status: 'received',
          from: 'ann@reader.test',
          to: [to],
          cc: ['bob@reader.test'],
          subject: 'A question',
          text: 'Hello?',
          html: null,
          message_id: '<m-1@reader.test>',
          in_reply_to: '<x@y.test>',
          attachments,
          spam_verdict: null,
          received_at: stored.received_at,
        },
      },
    ])
  })

  test('R-04 that is delivered again, or to each of its recipients, is stored once', async () => {
    const { own, name, received } = await withDomain()
    const raw = mail(`a@${name}, b@${name}`, ['Message-ID: <twice@reader.test>'])
    for (const to of ['a', 'a', 'b']) expect(await deliver(port, `${to}@${name}`, raw)).toBe(accepted)
    expect((await own.inbound()).body.data).toHaveLength(1)
    expect(await received()).toHaveLength(1)
    expect(await deliver(port, `hidden@${name}`, raw)).toBe(accepted)
    expect((await own.inbound()).body.data[0].to).toEqual([`a@${name}`, `b@${name}`, `hidden@${name}`])
  })

  test('X-114 to a domain that is not verified or not inbound has no mailbox', async () => {
    const { own, name, id, manage } = await withDomain()
    expect((await manage.patch(id, { inbound: false })).status).toBe(200)
    const unverified = 'pending.inbox.test'
    await manage.added(unverified, own.live, { inbound: true })
    await leavesNoTrace(async () => {
      for (const host of [name, unverified, 'nobody.test', `sub.${name}`]) {
        expect(await deliver(port, `help@${host}`, mail(`help@${host}`)), host).toBe(unknownMailbox)
      }
    })
    expect((await manage.patch(id, { inbound: true })).status).toBe(200)
    expect(await deliver(port, `help@${name.toUpperCase()}`, mail(`help@${name}`))).toBe(accepted)
  })

  test('SD-69 belongs to the tenant of the domain, or to that of the message that it answers', async () => {
    const own = await phoneClient(t)
    const [a, b] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
    const name = 'tenants.inbox.test'
    await domainClient(t, own).added(name, own.live, { inbound: true, tenant_id: a })
    await t.ask('POST', '/api/dev/run', { body: { task: 'domains' } })
    const sent = await postOf(t, own).sent({ to: ['ann@reader.test'] }, await t.key(own.orgId, { tenantId: b }))
    const answering = (id: string, from = 'ann@reader.test') =>
      mail(`help@${name}`, [`In-Reply-To: <${id}@example.test>`]).replace('ann@reader.test', from)
    await deliver(port, `help@${name}`, mail(`help@${name}`))
    await deliver(port, `help@${name}`, answering(sent))
    await deliver(port, `help@${name}`, answering(sent, 'eve@reader.test'))
    const shown = (await own.inbound()).body.data as { tenant_id: string; from: string }[]
    expect(shown.map(({ tenant_id, from }) => [tenant_id, from])).toEqual([
      [a, 'eve@reader.test'],
      [b, 'ann@reader.test'],
      [a, 'ann@reader.test'],
    ])
  })

  test('X-114 to a domain of two orgs is stored for both', async () => {
    const [first, second] = [await withDomain(), await phoneClient(t)]
    await domainClient(t, second).added(first.name, second.live, { inbound: true })
    await t.ask('POST', '/api/dev/run', { body: { task: 'domains' } })
    await deliver(port, `help@${first.name}`, mail(`help@${first.name}`))
    for (const { inbound } of [first.own, second]) expect((await inbound()).body.data).toHaveLength(1)
  })

  test('XD-15 with a long text is cut in the event and in lists, and whole in the read', async () => {
    const { own, name, received } = await withDomain()
    const long = Array.from({ length: 30_000 }, () => 'word').join('\r\n')
    expect(await deliver(port, `help@${name}`, mail(`help@${name}`, [], long))).toBe(accepted)
    const whole = long.replaceAll('\r\n', '\n')
    const [stored] = (await own.inbound()).body.data
    expect([stored.text, (await received())[0]?.data.text]).toEqual([whole.slice(0, 65_536), whole.slice(0, 65_536)])
    expect((await own.inboundOne(stored.id)).body.text).toBe(whole)
  })

  test('over 10 MB or that is not MIME is refused, and nothing is stored', async () => {
    const { name } = await withDomain()
    const to = `help@${name}`
    const large = mail(to, [], `${'x'.repeat(998)}\r\n`.repeat(10_600))
    const broken = mail(to, ['Content-Type: multipart/mixed; boundary=x'], 'no part')
    await leavesNoTrace(async () => {
      expect(await deliver(port, to, large)).toBe('552 5.3.4 The message is too large.')
      expect(await deliver(port, to, broken)).toBe('554 5.6.0 The message is not valid MIME.')
    })
    const fits = mail(to, [], `${'x'.repeat(998)}\r\n`.repeat(1_000))
    expect(await deliver(port, to, fits)).toBe(accepted)
  })

  test('with many recipients, long names and characters that the database cannot store is stored within bounds', async () => {
    const { own, name } = await withDomain()
    const many = Array.from({ length: 300 }, (_, i) => `r${i}@reader.test`).join(',\r\n ')
    const odd = ['Message-ID: <a\0b>', `Subject: ${'s'.repeat(900)}\0`, `Cc: ${many}`]
    const raw = mail(`help@${name}`, odd, 'a\0b').replace('Subject: A question\r\n', '')
    expect(await deliver(port, `help@${name}`, raw)).toBe(accepted)
    const [stored] = (await own.inbound()).body.data
    expect([stored.text, stored.to]).toEqual(['a\ufffdb', [`help@${name}`]])
  })
})

describe('the development tool', () => {
  const receive = (body: unknown) => t.ask('POST', '/api/dev/inbound-email', { body })

  test('X-114 R-42 takes the fields of an email, and routes it by its To', async () => {
    const { own, name, received } = await withDomain()
    const fields = { from: 'Ann <ann@reader.test>', to: `help@${name}`, subject: 'Hi', text: 'Hello', html: '<p>Hello' }
    const reply = await receive(fields)
    const { id } = reply.body
    expect([reply.status, reply.body]).toEqual([
      200,
      { status: 'stored', id: expect.stringMatching(/^iem_/), ids: [id] },
    ])
    expect((await own.inboundOne(id)).body).toMatchObject({
      from: 'ann@reader.test',
      to: [`help@${name}`],
      subject: 'Hi',
      text: 'Hello',
      html: '<p>Hello',
    })
    const named = { ...fields, message_id: '<dev@reader.test>' }
    const again = [await receive(fields), await receive(named), await receive(named)]
    expect(again.map(({ body }) => body.status)).toEqual(['stored', 'stored', 'repeated'])
    expect(again[2]?.body).toEqual({ status: 'repeated', id: null, ids: [] })
    expect(await received()).toHaveLength(3)
  })

  test('R-42 takes a whole message, and routes it by its To header', async () => {
    const { own, name } = await withDomain()
    const reply = await receive({ raw: mail(`Help <help@${name}>`) })
    expect((await own.inboundOne(reply.body.id)).body).toMatchObject({ to: [`help@${name}`], text: 'Hello?' })
  })

  test('refuses what it cannot deliver, and stores nothing', async () => {
    const { name } = await withDomain()
    await leavesNoTrace(async () => {
      const to = `help@${name}`
      for (const body of [{ from: 'a@b.test', to: 'x@nobody.test' }, { raw: mail('x@nobody.test') }, { raw: 'x' }]) {
        expect((await receive(body)).body.error.code).toBe('NOT_FOUND')
      }
      for (const body of [
        {},
        { to },
        { from: 'a@b.test' },
        { from: 'a@b.test', to: [] },
        { raw: 1 },
        { raw: '', to },
      ]) {
        expect((await receive(body)).body.error.code, JSON.stringify(body)).toBe('VALIDATION_ERROR')
      }
    })
  })
})
