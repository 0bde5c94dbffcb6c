/** Delivery receipts of a message centre on loopback, to the status of the message. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { smsClient } from '../../../../test/clients/sms-client.ts'
import { patient } from '../../../../test/providers/smpp.ts'
import { testSms } from '../../../../test/providers/sms.ts'
import { openSmsc, receiptFields } from '../../../../test/servers/smsc.ts'
import { testService } from '../../../../test/service/service.ts'
import { movableClock } from '../../../platform/ground/clock.ts'
import { silentLog } from '../../../platform/ground/log.ts'
import type { SmppReceipt } from './deliver-sm.ts'
import { makeSmppReceipts, type ReportSms } from './receipts.ts'
import type { SubmittedPart } from './store.ts'

type Reported = Parameters<ReportSms>[0]

const startService = async () => {
  const smsc = await openSmsc()
  const t = await testService({ env: { SMS_PROVIDER: 'smpp', SMPP_URL: smsc.url } })
  return { smsc, t, phone: smsClient(t, await t.org()) }
}

/** Receipts on the database of a service that does not use them. */
const openReceipts = async () => {
  const t = await testService()
  const reported: Reported[] = []
  const clock = movableClock()
  const receipts = makeSmppReceipts({
    db: t.service.db,
    clock,
    log: silentLog(),
    report: async (notification) => {
      reported.push(notification)
    },
  })
  onTestFinished(() => receipts.close())
  return { t, receipts, reported, clock }
}

const partOf = (providerMessageId: string, changes: Partial<SubmittedPart> = {}): SubmittedPart => {
  const { orgId, messageId } = testSms()
  return { providerMessageId, orgId, messageId, part: 1, parts: 1, recipientEnd: '0123', ...changes }
}

const receiptOf = (ids: string[], changes: Partial<SmppReceipt> = {}): SmppReceipt => ({
  ids,
  state: 'DELIVRD',
  token: 'DELIVERED',
  error: null,
  recipientEnd: '0123',
  ...changes,
})

describe('a receipt over the wire', () => {
  test('S-246 SD-61 marks its message delivered, once', async () => {
    const { smsc, phone } = await startService()
    const to = phone.number()
    const id = await phone.sent({ to })
    const fields = receiptFields('id-1', 'DELIVRD', { source_addr: to.slice(1) })
    expect([await smsc.deliver(fields), await smsc.deliver(fields)]).toEqual([0, 0])
    const row = await phone.row(id)
    expect([row.status, row.history.map(({ status }) => status)]).toEqual(['delivered', ['sent', 'delivered']])
    expect(row.history.at(-1)).toMatchObject({ recipient: to, detail: 'DELIVRD' })
    expect((await phone.events(id)).map(({ event }) => event)).toEqual(['message.sent', 'message.delivered'])
  })

  test('S-245 S-249 of a failure fails its message, without a suppression', async () => {
    const { smsc, phone } = await startService()
    const to = phone.number()
    const id = await phone.sent({ to })
    const text = `id:id-1 stat:UNDELIV err:0A1 text:`
    await smsc.deliver(receiptFields('', '', { source_addr: to.slice(1), short_message: { message: text } }))
    const row = await phone.row(id)
    expect([row.status, row.error_message]).toEqual(['failed', 'Not delivered: UNDELIV err:0A1'])
    expect(row.provider_response).toMatchObject({ token: 'UNDELIV' })
    expect(await phone.suppressions()).toEqual([])
  })

  test('S-252 S-253 of another state changes nothing', async () => {
    const { smsc, phone } = await startService()
    const to = phone.number()
    const id = await phone.sent({ to })
    for (const stat of ['ENROUTE', 'ACCEPTD', 'UNKNOWN', 'BANANA']) {
      expect(await smsc.deliver(receiptFields('id-1', stat, { source_addr: to.slice(1) }))).toBe(0)
    }
    expect((await phone.row(id)).history.map(({ status }) => status)).toEqual(['sent'])
  })

  test('S-246 of every part is needed to mark a long message delivered', async () => {
    const { smsc, phone } = await startService()
    const to = phone.number()
    const id = await phone.sent({ to, body: 'abcdefghij'.repeat(40) })
    expect(smsc.submits).toHaveLength(3)
    const deliver = (part: string) => smsc.deliver(receiptFields(part, 'DELIVRD', { source_addr: to.slice(1) }))
    await deliver('id-1')
    await deliver('id-1')
    await deliver('id-3')
    expect((await phone.row(id)).status).toBe('sent')
    await deliver('id-2')
    expect((await phone.row(id)).status).toBe('delivered')
  })

  test('S-249 of one failed part fails a long message', async () => {
    const { smsc, phone } = await startService()
    const to = phone.number()
    const id = await phone.sent({ to, body: 'abcdefghij'.repeat(40) })
    const deliver = (part: string, stat: string) =>
      smsc.deliver(receiptFields(part, stat, { source_addr: to.slice(1) }))
    await deliver('id-1', 'DELIVRD')
    await deliver('id-2', 'EXPIRED')
    expect((await phone.row(id)).status).toBe('failed')
    await deliver('id-3', 'DELIVRD')
    expect((await phone.row(id)).status).toBe('failed')
  })

  test('may arrive before the answer to the message', async () => {
    const { smsc, phone } = await startService()
    const to = phone.number()
    smsc.answer.submit = async () => {
      expect(await smsc.deliver(receiptFields('early', 'DELIVRD', { source_addr: to.slice(1) }))).toBe(0)
      return { message_id: 'early' }
    }
    const id = await phone.sent({ to })
    await expect.poll(async () => (await phone.row(id)).status, patient).toBe('delivered')
  })
})

describe('a receipt', () => {
  test('is matched in hexadecimal and decimal form, and prefers the form that the message centre used', async () => {
    const { receipts, reported } = await openReceipts()
    const [hex, decimal] = [partOf('1a'), partOf('26')]
    await receipts.remember(hex)
    await receipts.take(receiptOf(['26', '1a', '38']))
    await receipts.remember(decimal)
    await receipts.take(receiptOf(['26', '1a', '38']))
    expect(reported.map(({ messageId }) => messageId)).toEqual([hex.messageId, decimal.messageId])
  })

  test('is not matched to a message with another recipient', async () => {
    const { receipts, reported } = await openReceipts()
    const [other, own] = [partOf('26', { recipientEnd: '9999' }), partOf('1a')]
    await receipts.remember(other)
    await receipts.remember(own)
    await receipts.take(receiptOf(['26', '1a', '38']))
    expect(reported.map(({ messageId }) => messageId)).toEqual([own.messageId])
  })

  test('is matched to the newest message when the message centre uses an id again', async () => {
    const { receipts, reported } = await openReceipts()
    const [older, newer] = [partOf('x-1'), partOf('x-1')]
    await Promise.all([receipts.remember(older), receipts.remember(newer)])
    await receipts.take(receiptOf(['x-1']))
    expect(reported.map(({ messageId }) => messageId)).toEqual([newer.messageId])
  })

  test('of an unknown message waits for it, and is dropped after a minute', async () => {
    const { receipts, reported, clock } = await openReceipts()
    await receipts.take(receiptOf(['never']))
    clock.advance(30_000)
    await receipts.take(receiptOf(['soon']))
    clock.advance(31_000)
    const [never, soon, later] = [partOf('never'), partOf('soon'), partOf('later')]
    const messages = () => reported.map(({ messageId }) => messageId)
    await receipts.remember(soon)
    await expect.poll(messages, patient).toEqual([soon.messageId])
    await receipts.remember(never)
    // The pass that finds this one would also find the first.
    await receipts.take(receiptOf(['later']))
    await receipts.remember(later)
    await expect.poll(messages, patient).toEqual([soon.messageId, later.messageId])
  })

  test('of the last part reports the delivery once, also if the receipts arrive together', async () => {
    const { receipts, reported } = await openReceipts()
    const first = partOf('p-1', { parts: 4 })
    const ids = ['p-1', 'p-2', 'p-3', 'p-4']
    await Promise.all(
      ids.map((providerMessageId, i) => receipts.remember({ ...first, providerMessageId, part: i + 1 })),
    )
    await Promise.all(ids.map((id) => receipts.take(receiptOf([id]))))
    expect(reported.map(({ id }) => id)).toEqual([`${first.messageId}:delivered`])
  })
})

test('The ids of messages are deleted after 14 days', async () => {
  const { t, receipts } = await openReceipts()
  await receipts.remember(partOf('old'))
  const run = async () => (await t.ask('POST', '/api/dev/run', { body: { task: 'retention' } })).body.counts
  const advance = (days: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: days * 86_400 } })
  await advance(13)
  expect((await run()).sms_receipts_deleted).toBe(0)
  await advance(2)
  expect((await run()).sms_receipts_deleted).toBe(1)
  expect(await t.database.sql('select provider_message_id from sms_receipts')).toEqual([])
})
