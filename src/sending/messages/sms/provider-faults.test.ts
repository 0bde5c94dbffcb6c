/** Scheduled SMS when the provider does not take them, with a message centre on loopback. */
import smpp from 'smpp'
import { expect, test } from 'vitest'
import { smsClient } from '../../../../test/clients/sms-client.ts'
import { openSmsc } from '../../../../test/servers/smsc.ts'
import { testService } from '../../../../test/service/service.ts'

const start = async () => {
  const smsc = await openSmsc()
  const t = await testService({ env: { SMS_PROVIDER: 'smpp', SMPP_URL: smsc.url } })
  const phone = smsClient(t, await t.org())
  const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
  const fire = () => t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })
  const scheduled = async () => {
    const at = new Date(t.service.clock.millis() + 60_000).toISOString()
    const id = await phone.sent({ scheduled_at: at })
    await advance(61)
    return id
  }
  return { smsc, phone, advance, fire, scheduled }
}

test('SD-46 A scheduled SMS that the provider refuses for good fails, and is not sent again', async () => {
  const { smsc, phone, advance, fire, scheduled } = await start()
  smsc.answer.submit = () => ({ command_status: smpp.errors.ESME_RINVSRCADR })
  const id = await scheduled()
  await fire()
  const row = await phone.row(id)
  expect([row.status, row.error_message]).toEqual([
    'failed',
    'The message centre refused the message: status 0x0a (ESME_RINVSRCADR).',
  ])
  expect((await phone.events(id)).map(({ event }) => event)).toEqual(['message.failed'])
  await advance(7_200)
  await fire()
  expect(smsc.submits).toHaveLength(1)
})

test.each(['ESME_RSYSERR', 'ESME_RTHROTTLED'])(
  'SD-46 A scheduled SMS that gets %s is sent again later',
  async (status) => {
    const { smsc, phone, advance, fire, scheduled } = await start()
    const { submit } = smsc.answer
    smsc.answer.submit = () => ({ command_status: smpp.errors[status] })
    const id = await scheduled()
    await fire()
    expect((await phone.row(id)).status).toBe('scheduled')
    smsc.answer.submit = submit
    await advance(61)
    await fire()
    expect((await phone.row(id)).status).toBe('sent')
    expect((await phone.events(id)).map(({ event }) => event)).toEqual(['message.sent'])
    expect(smsc.submits).toHaveLength(2)
  },
)
