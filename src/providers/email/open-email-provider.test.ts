import { expect, test } from 'vitest'
import { testMail, to } from '../../../test/providers/email.ts'
import { testService } from '../../../test/service/service.ts'

test('the service uses the local provider by default, and the outbox shows its messages', async () => {
  const t = await testService()
  const { emailProvider } = t.service.modules
  expect(emailProvider.name).toBe('local')
  const mail = testMail({ to: to('bounced@simulator.tidings.test') })
  const handed = await emailProvider.send(mail)
  expect(handed.reports?.map(({ kind }) => kind)).toEqual(['hard_bounce'])
  const { body } = await t.ask('GET', '/api/dev/outbox')
  expect(body.data.map((entry: { id: string }) => entry.id)).toEqual([handed.providerMessageId])
})

test('providers are tried in the configured order, without duplicates', async () => {
  const t = await testService({
    env: { EMAIL_PROVIDER: 'ses, smtp,local,smtp', SMTP_URL: 'smtp://127.0.0.1:1' },
  })
  expect(t.service.modules.emailProvider.name).toBe('ses,smtp,local')
})

test('when a provider cannot be reached, the next one sends the mail', async () => {
  const t = await testService({ env: { EMAIL_PROVIDER: 'smtp,local', SMTP_URL: 'smtp://127.0.0.1:1' } })
  expect((await t.service.modules.emailProvider.send(testMail())).provider).toBe('local')
})

test('sending a mail inside a database transaction is refused', async () => {
  const { service } = await testService()
  await expect(service.db.tx(() => service.modules.emailProvider.send(testMail()))).rejects.toThrow(
    'handing over an email inside a database transaction',
  )
})
