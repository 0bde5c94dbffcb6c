import { expect, onTestFinished, test } from 'vitest'
import { mailsTo, openBrowser, otherThan, registerPerson, startLogin } from '../../../test/clients/sign-in-client.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { testService } from '../../../test/service/service.ts'

test('No password, code, token, cookie or address of a sign-in appears in the log', async () => {
  const file = await openLogFile()
  onTestFinished(file.remove)
  const t = await testService({ log: file.log })
  const email = 'very-private@example.com'
  const ann = openBrowser(t)
  await registerPerson(t, ann, email)
  const first = ann.cookie('service_session') as string
  await ann.post('/api/auth/login', { email, password: 'MARK-wrong-password' })
  const { challenge_id, code } = await startLogin(t, ann, email)
  await ann.post('/api/auth/login/code', { challenge_id, code: otherThan(code) })
  await ann.post('/api/auth/login/code', { challenge_id, code })
  const { body: setup } = await ann.post('/api/internal/user/2fa/setup')
  await ann.post('/api/auth/forgot-password', { email })
  await t.service.people.background.drained()
  const [link] = await mailsTo(t, email)
  const token = /token=([\w-]{43})/.exec(link?.text ?? '')?.[1] as string
  const reset = await ann.post('/api/auth/reset-password', { token, password: 'MARK-new-password' })
  expect(reset.status).toBe(200)
  await ann.ask('GET', '/api/auth/google/callback?code=MARK-code&state=MARK-state')
  await t.service.people.background.drained()
  await expect
    .poll(async () => (await file.lines('request')).some(({ route }) => route === '/api/auth/google/callback'))
    .toBe(true)
  const text = await file.text()
  const secrets = [email, 'MARK', 'correct horse', token, first, ann.cookie('service_session'), setup.secret]
  for (const secret of secrets) if (secret) expect(text).not.toContain(secret)
  // Times in the log have more digits, which may contain those of the code.
  expect(text).not.toMatch(new RegExp(`(?<![\\w.])${code}(?![\\w.])`))
})
