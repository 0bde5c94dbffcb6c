/** Resend's published Node client against this service: which calls work unchanged, and which differ. */
import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import { startTestService, type TestService } from '../service/service.ts'

let t: TestService
let acme: CreatedOrg
let resend: Resend

beforeAll(async () => {
  t = await startTestService()
  acme = await t.org()
  resend = new Resend(acme.keys.live, { baseUrl: `${t.url}/v1` })
})
afterAll(() => t.stop())

const mail = (to: string) => ({
  from: 'Shop <shop@example.test>',
  to: [to],
  subject: 'Your order',
  html: '<p>It is on its way.</p>',
})

const outbox = async (to: string) =>
  (await t.ask('GET', `/api/dev/outbox?channel=email&to=${to}`)).body.data as Record<string, unknown>[]

const shown = async (id: string) =>
  (await t.ask('GET', `/api/v1/emails/${id}?include=body`, { key: acme.keys.live })).body

const idOf = ({ data, error }: { data: { id: string } | null; error: unknown }): string => {
  expect(error).toBeNull()
  return (data as { id: string }).id
}

/** The client returns the body of an error response unchanged. */
const codeOf = ({ data, error }: { data: unknown; error: unknown }): string => {
  expect(data).toBeNull()
  return (error as { error: { code: string } }).error.code
}

const inAnHour = () => new Date(t.service.clock.millis() + 3_600_000).toISOString()

describe('The Resend client works unchanged for', () => {
  test('S-078 sending with every field that both services support', async () => {
    const id = idOf(
      await resend.emails.send({
        ...mail('full@example.com'),
        cc: 'cc@example.com',
        bcc: ['bcc@example.com'],
        replyTo: 'help@example.test',
        text: 'It is on its way.',
        headers: { 'X-Order': '42' },
      }),
    )
    expect(await shown(id)).toMatchObject({
      from: 'shop@example.test',
      from_name: 'Shop',
      to: ['full@example.com'],
      cc: ['cc@example.com'],
      bcc: ['bcc@example.com'],
      reply_to: ['help@example.test'],
      subject: 'Your order',
      html: '<p>It is on its way.</p>',
      text: 'It is on its way.',
      headers: { 'X-Order': '42' },
    })
    expect((await outbox('full@example.com')).map((one) => one.message_id)).toEqual([id])
  })

  test('S-082 S-140 attachments as bytes or base64', async () => {
    const content = Buffer.from([0, 1, 2, 255])
    const id = idOf(
      await resend.emails.send({
        ...mail('files@example.com'),
        attachments: [
          { filename: 'a.pdf', content },
          { filename: 'b.bin', content: content.toString('base64'), contentType: 'application/x-own' },
        ],
      }),
    )
    expect((await shown(id)).attachments).toEqual([
      { filename: 'a.pdf', content_type: 'application/pdf' },
      { filename: 'b.bin', content_type: 'application/x-own' },
    ])
    expect(String((await outbox('files@example.com'))[0]?.raw).match(/AAEC\/w==/g)).toHaveLength(2)
  })

  test('S-082 an inline image by its content id', async () => {
    const attachments = [{ filename: 'logo.png', content: Buffer.from('LOGO'), contentId: 'logo' }]
    const html = '<img src="cid:logo">'
    idOf(await resend.emails.send({ ...mail('inline@example.com'), html, attachments }))
    const raw = String((await outbox('inline@example.com'))[0]?.raw)
    expect(raw).toContain('\r\nContent-ID: <logo>\r\n')
    expect(raw).toContain('\r\nContent-Disposition: inline; filename=logo.png\r\n')
  })

  test('an idempotency key: the second call sends nothing and returns the first id', async () => {
    const send = () => resend.emails.send(mail('once@example.com'), { idempotencyKey: 'order-1' })
    expect(idOf(await send())).toBe(idOf(await send()))
    expect(await outbox('once@example.com')).toHaveLength(1)
  })

  test('S-153 scheduling, reading and canceling: a canceled email is never sent', async () => {
    const scheduledAt = inAnHour()
    const id = idOf(await resend.emails.send({ ...mail('later@example.com'), scheduledAt }))
    const read = await resend.emails.get(id)
    expect(read).toMatchObject({
      error: null,
      data: { id, to: ['later@example.com'], scheduled_at: scheduledAt },
    })
    expect(await shown(id)).toMatchObject({ status: 'scheduled' })
    expect(idOf(await resend.emails.cancel(id))).toBe(id)
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 7_200 } })
    await t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })
    expect(await shown(id)).toMatchObject({ status: 'canceled', canceled_at: expect.any(String) })
    expect(await outbox('later@example.com')).toEqual([])
    expect(codeOf(await resend.emails.cancel(id))).toBe('NOT_SCHEDULED')
  })

  test('S-116 a batch, with one id per email in order', async () => {
    const { data, error } = await resend.batch.send([mail('b1@example.com'), mail('b2@example.com')])
    expect(error).toBeNull()
    const ids = (data as unknown as { data: { id: string }[] }).data.map(({ id }) => id)
    expect((await Promise.all(ids.map(shown))).map(({ to }) => to)).toEqual([['b1@example.com'], ['b2@example.com']])
  })

  test('S-134 the next page by cursor, while `after` is ignored', async () => {
    for (const n of [1, 2, 3]) idOf(await resend.emails.send(mail(`page${n}@example.com`)))
    type Page = { data: { id: string }[]; next_cursor: string | null }
    const pageAt = async (cursor: string): Promise<Page> => {
      const { data } = await resend.get<Page>(`/emails?limit=1&cursor=${cursor}`)
      return data as Page
    }
    const ids: string[] = []
    let cursor: string | null = ''
    do {
      const page = await pageAt(cursor)
      ids.push(...page.data.map(({ id }) => id))
      cursor = page.next_cursor
    } while (cursor)
    expect(ids.length).toBeGreaterThanOrEqual(3)
    expect(new Set(ids).size).toBe(ids.length)
    const again = await resend.emails.list({ limit: 1, after: ids[0] as string })
    expect(again.data?.data[0]?.id).toBe(ids[0])
  })

  test('S-134 a list, with the emails in `data`', async () => {
    const { data, error } = await resend.emails.list({ limit: 1 })
    expect(error).toBeNull()
    expect(data?.data).toHaveLength(1)
  })
})

describe('The service refuses, instead of misinterpreting,', () => {
  test('S-078 a single address as `to`', async () => {
    expect(codeOf(await resend.emails.send({ ...mail('x'), to: 'lone@example.com' }))).toBe('VALIDATION_ERROR')
    expect(await outbox('lone@example.com')).toEqual([])
  })

  test('SD-31 tags as name and value pairs', async () => {
    const tags = [{ name: 'kind', value: 'receipt' }]
    expect(codeOf(await resend.emails.send({ ...mail('tags@example.com'), tags }))).toBe('VALIDATION_ERROR')
    expect(await outbox('tags@example.com')).toEqual([])
  })

  test('an attachment by URL, and a time in words', async () => {
    const attachments = [{ filename: 'a.pdf', path: 'https://example.com/a.pdf' }]
    expect(codeOf(await resend.emails.send({ ...mail('path@example.com'), attachments }))).toBe('VALIDATION_ERROR')
    const worded = { ...mail('words@example.com'), scheduledAt: 'in 1 min' }
    expect(codeOf(await resend.emails.send(worded))).toBe('VALIDATION_ERROR')
    expect([...(await outbox('path@example.com')), ...(await outbox('words@example.com'))]).toEqual([])
  })

  test('rescheduling, which is not supported', async () => {
    const id = idOf(await resend.emails.send({ ...mail('move@example.com'), scheduledAt: inAnHour() }))
    expect(codeOf(await resend.emails.update({ id, scheduledAt: inAnHour() }))).toBe('METHOD_NOT_ALLOWED')
    expect(await shown(id)).toMatchObject({ status: 'scheduled' })
  })
})
