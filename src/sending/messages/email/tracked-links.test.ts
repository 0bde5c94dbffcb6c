/** Messages with very many links. */
import { afterAll, expect, test, vi } from 'vitest'
import { mail, mailer } from '../../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await mailer(t)
const leavesNoTrace = await watchTables(t.database)

const html = (links: number) => '<a href=http://a>'.repeat(links)
const message = 'The html has more than 100,000 links to track. Send fewer links, or turn off track_clicks.'

test('a message tracks at most 100,000 links, and without click tracking it can have more', {
  timeout: 60_000,
}, async () => {
  const refused = await leavesNoTrace(() => acme.send(mail({ html: html(100_001), track_clicks: true })))
  expectRefusal(refused, 'PAYLOAD_TOO_LARGE', { message })
  for (const body of [
    { html: html(100_000), track_clicks: true },
    { html: html(100_001), track_opens: true },
  ]) {
    expect((await acme.send(mail(body))).status).toBe(200)
  }
})

test('each recipient of a bulk call with too many links fails, and nothing is sent or counted', {
  timeout: 60_000,
}, async () => {
  const before = await acme.traces()
  const to = ['ada@example.com', 'bob@example.com']
  const reply = await acme.batch(mail({ to, html: html(100_001), track_clicks: true }))
  const error = { code: 'PAYLOAD_TOO_LARGE', message }
  expect([reply.status, reply.body]).toEqual([
    200,
    {
      data: [0, 1].map((index) => ({ index, id: null, status: 'failed', error })),
      total: 2,
      succeeded: 0,
      failed: 2,
    },
  ])
  expect(await acme.traces()).toEqual(before)
})

test('S-120 a bulk call searches and reads its html and text once and writes them for each recipient', async () => {
  const { links } = t.service.modules
  const [read, write] = [vi.spyOn(links, 'read'), vi.spyOn(links, 'write')]
  const search = vi.spyOn(String.prototype, 'search')
  const body = mail({
    to: Array.from({ length: 60 }, (_, i) => `ada-${i}@example.com`),
    stream: 'broadcast',
    html: '<a href="https://shop.example/">Shop</a> <a href="{{unsubscribe_url}}">Leave</a>',
    text: 'Leave: {{ unsubscribe_url }}',
    track_opens: true,
    track_clicks: true,
  })
  const { body: sent } = await acme.batch(body)
  const searched = search.mock.contexts.filter((text) => String(text).includes('unsubscribe_url'))
  expect([sent.succeeded, searched.length, read.mock.calls.length, write.mock.calls.length]).toEqual([60, 2, 2, 120])
  vi.restoreAllMocks()
  const { orgId } = acme
  for (const [index, { id: messageId }] of (sent.data as { id: string }[]).entries()) {
    const { body: stored } = await acme.get(messageId)
    const ref = { orgId, messageId }
    const address = `ada-${index}@example.com`
    const leave = links.unsubscribeUrl({ ...ref, tenantId: null, environment: 'live', address })
    const shop = links.clickUrl(ref, 'https://shop.example/')
    expect(stored.html).toMatch(/<img src="[^"]+"[^>]+>$/)
    expect(stored.html.split('<img ')[0]).toBe(`<a href="${shop}">Shop</a> <a href="${leave}">Leave</a>`)
    expect(stored.html.split('<img ')[1]).toContain(`"${links.openUrl(ref)}"`)
    expect(stored.text).toBe(`Leave: ${leave}`)
  }
})

test('two emails in one call keep their own content', async () => {
  const item = (name: string) => mail({ html: `<a href="https://${name}.example/">${name}</a>`, track_clicks: true })
  const { body } = await acme.batch([item('one'), item('two')])
  const stored = await Promise.all((body.data as { id: string }[]).map(({ id }) => acme.get(id)))
  expect(stored.map((reply) => reply.body.html.match(/>(\w+)<\/a>$/)?.[1])).toEqual(['one', 'two'])
})
