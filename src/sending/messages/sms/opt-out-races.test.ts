/** An opt-out that is stored while a message is on its way: after that, nothing is handed to the provider. */
import { afterAll, beforeEach, expect, test } from 'vitest'
import { type Texter, text, texter } from '../../../../test/clients/texter.ts'
import { expectRefusal } from '../../../../test/expect/refusal.ts'
import { beginOtherTransaction } from '../../../../test/service/other-transaction.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { HandoverFault } from '../../../providers/handover.ts'
import type { Sms } from '../../../providers/sms/sms-provider.ts'

const to = '+15125550100'
const handed: Sms[] = []
let attempts = 0
/** Runs before the provider accepts a message. */
let beforeAccepting: () => Promise<void> = async () => undefined

const t = await startTestService({
  smsProvider: {
    name: 'fake',
    send: async (sms) => {
      attempts++
      await beforeAccepting()
      handed.push(sms)
      return { provider: 'fake', providerMessageId: sms.messageId }
    },
    close: async () => undefined,
  },
})
afterAll(() => t.stop())
beforeEach(() => {
  handed.length = 0
  attempts = 0
  beforeAccepting = async () => undefined
})

/** Stores the opt-out while `work` waits for its reservation, after its suppressions were read. */
const optOutWhileWaiting = async <T>(own: Texter, work: () => Promise<T>): Promise<T> => {
  const other = await beginOtherTransaction(t.database)
  await other.sql('select 1 from usage_counters where org_id = $1 for update', [own.orgId])
  const working = work()
  await other.untilWaitedFor()
  await own.suppress(to, 'stop')
  await other.rollback()
  return working
}

/** The first attempt fails, and the recipient opts out before the second one. */
const optOutBetweenAttempts = (own: Texter): void => {
  beforeAccepting = async () => {
    beforeAccepting = async () => undefined
    await own.suppress(to, 'stop')
    throw new HandoverFault('unavailable', 'fake', 'Not now')
  }
}

/** An org that has sent one message, so that its counters exist. */
const started = async (): Promise<Texter> => {
  const own = await texter(t)
  expect((await own.send(text({ to: '+15125550199' }))).status).toBe(200)
  handed.length = 0
  attempts = 0
  return own
}

test('S-178 an opt-out that is stored while a send waits for its reservation stops it', async () => {
  const own = await started()
  expectRefusal(await optOutWhileWaiting(own, () => own.send(text())), 'SUPPRESSED')
  expect([handed, attempts]).toEqual([[], 0])
  expect(await own.traces()).toMatchObject({
    messages: ['sent'],
    events: ['message.sent'],
    used: { 'org live sms': 1 },
  })
})

test('S-193 an opt-out that is stored while a batch waits for its reservation fails its item', async () => {
  const own = await started()
  const reply = await optOutWhileWaiting(own, () => own.batch(text({ to: ['+15125550101', to] })))
  expect(reply.body.data).toEqual([
    { index: 0, id: expect.stringMatching(/^msg_/), status: 'sent', error: null },
    { index: 1, id: null, status: 'failed', error: { code: 'SUPPRESSED', message: expect.any(String) } },
  ])
  expect(handed.map((sms) => sms.to)).toEqual(['+15125550101'])
  expect(await own.used()).toMatchObject({ 'org live sms': 2 })
})

test('S-159 an opt-out that is stored while a due message waits for its reservation fails it', async () => {
  const own = await started()
  const { body } = await own.send(text({ scheduled_at: own.inSeconds(60) }))
  await own.advance(61)
  await optOutWhileWaiting(own, own.fire)
  expect(await own.row(body.id)).toMatchObject({
    status: 'failed',
    error_message: expect.stringMatching('^SUPPRESSED: '),
  })
  expect([handed, await own.used()]).toMatchObject([[], { 'org live sms': 1 }])
})

test('S-178 an opt-out between two attempts of a send stops it, and nothing is counted', async () => {
  const own = await started()
  optOutBetweenAttempts(own)
  expectRefusal(await own.send(text()), 'SUPPRESSED')
  expect([handed, attempts]).toEqual([[], 1])
  expect(await own.traces()).toMatchObject({ messages: ['sent'], used: { 'org live sms': 1 } })
})

test('S-193 an opt-out between two attempts of an item fails it, and nothing is counted', async () => {
  const own = await started()
  optOutBetweenAttempts(own)
  const reply = await own.batch([text()])
  expect(reply.body.data[0]).toMatchObject({ id: null, status: 'failed', error: { code: 'SUPPRESSED' } })
  expect([handed, attempts]).toEqual([[], 1])
  expect(await own.traces()).toMatchObject({ messages: ['sent'], used: { 'org live sms': 1 } })
})
