import { afterAll, expect, test } from 'vitest'
import { connectSmtp, outboxOf, startMessage, startSubmissionService } from '../../../test/clients/submission-client.ts'

const t = await startSubmissionService()
afterAll(() => t.stop())
const { keys } = await t.org()

test.each([
  ['no subject', ''],
  ['an empty subject', 'Subject:\r\n'],
  ['a subject of spaces', 'Subject:   \r\n'],
])('A message over SMTP with %s is stored and sent with an empty subject', async (_, line) => {
  const to = `empty${line.length}@example.com`
  const { command, signIn, socket } = await connectSmtp(t.port)
  await signIn(keys.live)
  await startMessage(command, to)
  const reply = await command(`From: shop@example.test\r\nTo: ${to}\r\n${line}\r\nHello.\r\n.`)
  socket.destroy()
  expect(reply).toMatch(/^250 2\.0\.0 msg_\w+$/)
  const id = reply.split(' ')[2]
  const shown = await t.ask('GET', `/api/v1/emails/${id}`, { key: keys.live })
  expect(shown.body).toMatchObject({ id, status: 'sent', subject: '', to: [to] })
  const [handed, ...more] = await outboxOf(t, to)
  expect([handed?.subject, more]).toEqual(['', []])
  expect(String(handed?.raw)).not.toMatch(/^Subject:/im)
})

test('S-079 Over HTTP a message without a subject is refused', async () => {
  for (const subject of [undefined, '']) {
    const body = { from: 'shop@example.test', to: ['http@example.com'], subject, text: 'Hello.' }
    const reply = await t.ask('POST', '/api/v1/emails', { key: keys.live, body })
    expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
    expect(reply.body.error.errors).toEqual([expect.objectContaining({ path: ['subject'] })])
  }
  expect(await outboxOf(t, 'http@example.com')).toEqual([])
})
