import { expect, test } from 'vitest'
import { testHouse } from '../../../test/house.ts'
import { mailOf, to } from './harness.ts'

test('the house hands email to the local provider by default, and what it was handed shows in the outbox', async () => {
  const t = await testHouse()
  const { emailProvider } = t.house.rooms
  expect(emailProvider.name).toBe('local')
  const mail = mailOf({ to: to('bounced@simulator.tidings.test') })
  const handed = await emailProvider.send(mail)
  expect(handed.reports?.map(({ kind }) => kind)).toEqual(['hard_bounce'])
  const { body } = await t.ask('GET', '/api/dev/outbox')
  expect(body.data.map((entry: { id: string }) => entry.id)).toEqual([handed.providerMessageId])
})

test('providers are asked in the order in which they are configured, each once', async () => {
  const t = await testHouse({
    env: { EMAIL_PROVIDER: 'ses, smtp,local,smtp', SMTP_URL: 'smtp://127.0.0.1:1' },
  })
  expect(t.house.rooms.emailProvider.name).toBe('ses,smtp,local')
})

test('when one cannot be reached the next takes the mail', async () => {
  const t = await testHouse({ env: { EMAIL_PROVIDER: 'smtp,local', SMTP_URL: 'smtp://127.0.0.1:1' } })
  expect((await t.house.rooms.emailProvider.send(mailOf())).provider).toBe('local')
})

test('a mail is not handed over inside a transaction', async () => {
  const { house } = await testHouse()
  await expect(house.db.tx(() => house.rooms.emailProvider.send(mailOf()))).rejects.toThrow(
    'handing over an email inside a database transaction',
  )
})
