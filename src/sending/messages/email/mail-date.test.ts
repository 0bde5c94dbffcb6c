import { expect, test } from 'vitest'
import { mail, mailer } from '../../../../test/clients/mailer.ts'
import { testService } from '../../../../test/service/service.ts'

const dateOf = (raw: string): number => Date.parse(raw.match(/^Date: (.*)$/m)?.[1] ?? '')

test('The Date header of mail has the real time although the clock was moved, and the message has the moved time', async () => {
  const t = await testService()
  const acme = await mailer(t)
  const before = Date.now()
  await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 86_400 } })
  const { status, body } = await acme.send(mail())
  expect(status).toBe(200)
  const outbox = await t.ask('GET', '/api/dev/outbox?limit=1')
  const [sent] = outbox.body.data
  expect(sent.message_id).toBe(body.id)
  expect(dateOf(sent.raw)).toBeGreaterThanOrEqual(Math.floor(before / 1000) * 1000)
  expect(dateOf(sent.raw)).toBeLessThanOrEqual(Date.now())
  const read = await t.ask('GET', `/api/v1/emails/${body.id}`, { key: acme.live })
  expect(Date.parse(read.body.sent_at)).toBeGreaterThanOrEqual(before + 86_400_000)
  expect(Date.parse(sent.at)).toBeGreaterThanOrEqual(before + 86_400_000)
})
