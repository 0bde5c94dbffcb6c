/** What the log contains when a relay quotes the recipient in its refusals. */
import { expect, onTestFinished, test } from 'vitest'
import { advance } from '../../../test/clients/key-client.ts'
import { mail, mailer } from '../../../test/clients/mailer.ts'
import { postOf, startRelay } from '../../../test/clients/post-client.ts'
import { mailer as smtpClient, startSubmissionService } from '../../../test/clients/submission-client.ts'
import { openLogFile } from '../../../test/service/log-file.ts'

test('no recipient is logged, and each failed handover has one record', { timeout: 60_000 }, async () => {
  const relay = await startRelay((address) => {
    if (address.startsWith('good')) return undefined
    const text = `<${address}>: refused for ${address}, call +15005550001`
    return address.startsWith('later') ? { code: 450, text: `4.2.0 ${text}` } : { code: 550, text: `5.1.1 ${text}` }
  })
  const file = await openLogFile()
  onTestFinished(file.remove)
  const t = await startSubmissionService({
    env: { EMAIL_PROVIDER: 'smtp', SMTP_URL: relay.url },
    log: file.log,
  })
  onTestFinished(t.stop)
  const own = await mailer(t)
  const { scheduled, fire } = postOf(t, own)

  const single = await own.send(mail({ to: ['gone1@reader.test'] }))
  const batch = await own.batch([mail({ to: ['gone2@reader.test', 'gone3@reader.test'] })])
  const later = await scheduled({ to: ['gone4@reader.test'] })
  await advance(t, 61)
  await fire()
  await smtpClient(t.port, own.live)({ ...mail(), to: ['gone5@reader.test'] })
  await own.send(mail({ to: ['good@reader.test', 'gone6@reader.test'] }))
  const before = relay.attempts()
  const waiting = own.send(mail({ to: ['later@reader.test'] }))
  await expect.poll(relay.attempts).toBeGreaterThan(before + 1)
  await advance(t, 11)
  const transient = await waiting
  expect([single.status, batch.status, transient.status]).toEqual([500, 200, 500])

  await expect.poll(async () => (await file.lines('message handover failed')).length).toBe(4)
  const records = (await file.text()).trim().split('\n')
  for (const id of [single.body.error.message_id, batch.body.data[0].id, later, transient.body.error.message_id]) {
    expect(records.filter((record) => record.includes(id))).toHaveLength(1)
  }
  expect(records.filter((record) => /"level":[56]0/.test(record))).toEqual([])
  const text = records.join('\n')
  expect(text).not.toMatch(/gone\d|later@|good@|@reader|\+1500/)
  expect(text).toContain('550 5.1.1 <[address]>: refused for [address], call [number]')
})
