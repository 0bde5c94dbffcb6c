/** Text messages that a message centre delivers over SMPP. */
import smpp from 'smpp'
import { afterAll, expect, test } from 'vitest'
import { freshNumber, phoneClient } from '../../../test/clients/phone-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { openSmsc } from '../../../test/servers/smsc.ts'
import { startTestService } from '../../../test/service/service.ts'

const patient = { timeout: 15_000 }
const smsc = await openSmsc({ until: afterAll })
const t = await startTestService({ env: { SMS_PROVIDER: 'smpp', SMPP_URL: smsc.url, RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const own = await phoneClient(t)
const leavesNoTrace = await watchTables(t.database)

const deliver = (from: string, to: string, message: string, more: Record<string, unknown> = {}) =>
  smsc.deliver({
    source_addr: from.slice(1),
    source_addr_ton: 1,
    destination_addr: to.slice(1),
    dest_addr_ton: 1,
    short_message: { message },
    ...more,
  })

test('S-254 S-262 A STOP that arrives over SMPP is stored before it is acknowledged, and stops further messages', async () => {
  const to = freshNumber()
  const prior = await own.sent(to)
  expect(await deliver(to, own.line, 'Stop')).toBe(0)
  expect(await own.suppressed()).toMatchObject([{ value: to, reason: 'stop', message_id: prior }])
  expect((await own.inbound()).body.data).toMatchObject([{ from: to, to: own.line, body: 'Stop', in_reply_to: prior }])
  const submits = smsc.submits.length
  expectRefusal(await own.send({ from: own.line, to, body: 'Again' }), 'SUPPRESSED')
  expect(smsc.submits).toHaveLength(submits)
})

test('X-115 A reply that arrives over SMPP fires inbound.sms, and is stored once if it has an id', async () => {
  const from = freshNumber()
  const withId = { receipted_message_id: 'mo-77' }
  expect([await deliver(from, own.line, 'Thanks', withId), await deliver(from, own.line, 'Thanks', withId)]).toEqual([
    0, 0,
  ])
  const replies = (await own.inboundEvents()).filter(({ event }) => event === 'inbound.sms')
  expect(replies).toMatchObject([{ data: { from, to: own.line, body: 'Thanks' } }])
})

test('A message to a number that nobody has is rejected, and nothing is stored', async () => {
  await expect.poll(() => smsc.binds.length, patient).toBeGreaterThan(0)
  const status = await leavesNoTrace(() => deliver(freshNumber(), freshNumber(), 'STOP'))
  expect(status).toBe(smpp.errors.ESME_RX_R_APPN)
})
