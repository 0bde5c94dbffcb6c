/** What arrives of an email: inline images, invitations, folded base64, and a text made from HTML. */
import PostalMime from 'postal-mime'
import { afterAll, expect, test } from 'vitest'
import { type Body, mail, mailer } from '../../../../test/clients/mailer.ts'
import { postOf } from '../../../../test/clients/post-client.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await mailer(t)
const leavesNoTrace = await watchTables(t.database)

const content = Buffer.from('LOGO').toString('base64')
const logo = { filename: 'logo.png', content, content_id: 'logo' }

/** Sends an email, and returns how it is shown and what arrives. */
const arrived = async (more: Body) => {
  const reply = await acme.send(mail(more))
  expect([reply.status, reply.body.status], reply.text).toEqual([200, 'sent'])
  const { id } = reply.body
  const { raw } = await acme.handed(id)
  return { shown: (await acme.get(id)).body, raw: String(raw), read: await PostalMime.parse(String(raw)) }
}

test('S-082 an attachment with a content_id is shown where the HTML refers to it', async () => {
  const { shown, read } = await arrived({ html: '<img src="cid:logo">', attachments: [logo] })
  expect(shown.attachments).toEqual([{ filename: 'logo.png', content_type: 'image/png' }])
  expect(read.attachments).toMatchObject([
    { filename: 'logo.png', mimeType: 'image/png', disposition: 'inline', related: true, contentId: '<logo>' },
  ])
  expect(Buffer.from(read.attachments[0]?.content as ArrayBuffer).toString()).toBe('LOGO')
})

test('S-082 each message of a bulk call and each item of a batch has its inline image', async () => {
  const email = mail({ html: '<img src="cid:logo">', attachments: [logo] })
  const bulk = await acme.batch({ ...email, to: ['a@example.com', 'b@example.com'] })
  const items = await acme.batch([email])
  const ids = [...bulk.body.data, ...items.body.data].map(({ id }: { id: string }) => id)
  expect(ids).toHaveLength(3)
  for (const id of ids) expect((await acme.handed(id)).raw).toContain('\r\nContent-ID: <logo>\r\n')
})

test('S-140 an invalid or repeated content_id is refused at its path', async () => {
  const at = async (attachments: Body[], index: number) => {
    const errors = [
      { path: ['attachments', index, 'content_id'], code: expect.any(String), message: expect.any(String) },
    ]
    const email = mail({ attachments })
    expectRefusal(await leavesNoTrace(() => acme.send(email)), 'VALIDATION_ERROR', { errors })
    const bulk = await leavesNoTrace(() => acme.batch(email))
    expect([bulk.status, bulk.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  }
  for (const content_id of ['', '<logo>', 'a b', 'é', 'a\r\nb', 'a"b', 'a%40', 'x'.repeat(129), 7, null]) {
    await at([{ ...logo, content_id }], 0)
  }
  await at([logo, { ...logo, filename: 'other.png' }], 1)
})

test('S-082 an attachment of type text/calendar with a method is an alternative to the text', async () => {
  const content_type = 'text/calendar; method=REQUEST'
  const event = 'BEGIN:VCALENDAR\nMETHOD:REQUEST\nEND:VCALENDAR\n'
  const attachments = [{ filename: 'invite.ics', content: Buffer.from(event).toString('base64'), content_type }]
  const { shown, read } = await arrived({ html: '<p>Come!</p>', attachments })
  expect(shown.attachments).toEqual([{ filename: 'invite.ics', content_type }])
  expect(read.attachments).toMatchObject([
    { mimeType: 'text/calendar', method: 'REQUEST' },
    { filename: 'invite.ics', mimeType: 'application/ics', disposition: 'attachment' },
  ])
  expect(read.text?.trim()).toBe('Hello, Ada')
})

test('SD-31 attachment content may be folded', async () => {
  const bytes = Buffer.from(Array.from({ length: 300 }, (_, i) => i % 256))
  const folded = `${bytes.toString('base64').replace(/.{76}/g, '$&\r\n')}\n `
  const { read } = await arrived({ attachments: [{ filename: 'a.bin', content: folded }] })
  expect(Buffer.from(read.attachments[0]?.content as ArrayBuffer)).toEqual(bytes)
})

test('S-082 an email without text has one made from its HTML, and is stored and shown without', async () => {
  const html = '<p>Hello &amp; <a href="https://example.com/">welcome</a></p>'
  const { shown, read } = await arrived({ text: undefined, html })
  expect([shown.html, shown.text]).toEqual([html, null])
  expect(read.text?.trim()).toBe('Hello & welcome <https://example.com/>')
  expect(read.html?.trim()).toBe(html)
})

test('S-082 an email with an empty text has no text, also when it is scheduled', async () => {
  const html = '<p>Hello</p>'
  const { shown, raw } = await arrived({ text: '', html })
  expect([shown.html, shown.text]).toEqual([html, ''])
  expect(raw).not.toContain('text/plain')
  const { advance, fire, inSeconds } = postOf(t, acme)
  const { body } = await acme.send(mail({ text: '', html, scheduled_at: inSeconds(60) }))
  await advance(61)
  await fire()
  expect((await acme.handed(body.id)).raw).not.toContain('text/plain')
})

test('S-082 a subject that looks like an encoded word arrives unchanged', async () => {
  const subject = '=?utf-8?Q?M=C3=BCnchen?='
  const { shown, read } = await arrived({ subject })
  expect([shown.subject, read.subject]).toEqual([subject, subject])
})
