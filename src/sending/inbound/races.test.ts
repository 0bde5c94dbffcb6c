/** An opt-out that arrives while messages to the same number are being sent. */
import { afterAll, beforeEach, expect, test } from 'vitest'
import { freshNumber, phoneClient } from '../../../test/clients/phone-client.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import { HandoverFault } from '../../providers/handover.ts'
import { makeSmsHandovers } from '../messages/sms/sms-handovers.ts'

const events: string[] = []
/** Runs before the provider accepts a message. */
let beforeAccepting: () => Promise<void> = async () => undefined

const t = await startTestService({
  env: { RATE_LIMITER: 'off' },
  smsProvider: {
    name: 'fake',
    send: async (sms) => {
      await beforeAccepting()
      events.push('handed over')
      return { provider: 'fake', providerMessageId: sms.messageId }
    },
    close: async () => undefined,
  },
})
afterAll(() => t.stop())
beforeEach(() => {
  events.length = 0
  beforeAccepting = async () => undefined
})

const stored = async (own: Awaited<ReturnType<typeof phoneClient>>): Promise<number> => (await own.suppressed()).length

test('S-264 A STOP is acknowledged only after a message that is being handed over, and none follows it', async () => {
  const own = await phoneClient(t)
  const to = freshNumber()
  const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  beforeAccepting = async () => {
    reached.resolve()
    await release.promise
  }
  const sending = own.send({ from: own.line, to, body: 'Hello' })
  await reached.promise
  const stopping = own.receive(to, 'STOP').then((reply) => {
    events.push('acknowledged')
    return reply
  })
  await expect.poll(() => stored(own)).toBe(1)
  // The opt-out is stored, so a second message is refused while the first is still on its way.
  expectRefusal(await own.send({ from: own.line, to, body: 'Again' }), 'SUPPRESSED')
  expect(events).toEqual([])
  release.resolve()
  expect([(await sending).status, (await stopping).status]).toEqual([200, 200])
  expectRefusal(await own.send({ from: own.line, to, body: 'Again' }), 'SUPPRESSED')
  expect(events).toEqual(['handed over', 'acknowledged'])
})

test('S-264 A STOP does not wait for messages to other numbers', async () => {
  const own = await phoneClient(t)
  const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  beforeAccepting = async () => {
    reached.resolve()
    await release.promise
  }
  const sending = own.send({ from: own.line, to: freshNumber(), body: 'Hello' })
  await reached.promise
  expect((await own.receive(freshNumber(), 'STOP')).status).toBe(200)
  expect(events).toEqual([])
  release.resolve()
  expect((await sending).status).toBe(200)
})

test('S-264 A STOP between two attempts of a message prevents the second', async () => {
  const own = await phoneClient(t)
  const to = freshNumber()
  let attempts = 0
  let stopping: Promise<unknown> | undefined
  beforeAccepting = async () => {
    attempts++
    stopping ??= own.receive(to, 'STOP')
    await expect.poll(() => stored(own)).toBe(1)
    throw new HandoverFault('unavailable', 'fake', 'Not now')
  }
  expectRefusal(await own.send({ from: own.line, to, body: 'Hello' }), 'SUPPRESSED')
  await stopping
  expect([attempts, events]).toEqual([1, []])
})

test('S-264 Among many concurrent sends, none is handed over after the STOP is acknowledged', async () => {
  const own = await phoneClient(t)
  const to = freshNumber()
  const send = async () => (await own.send({ from: own.line, to, body: 'Hello' })).status
  const sends: Promise<number>[] = []
  for (let i = 0; i < 20; i++) sends.push(send())
  const stop = own.receive(to, 'STOP').then(() => events.push('acknowledged'))
  for (let i = 0; i < 20; i++) sends.push(send())
  await stop
  for (let i = 0; i < 5; i++) sends.push(send())
  const statuses = await Promise.all(sends)
  const handedOver = events.filter((event) => event === 'handed over').length
  expect(events.slice(events.indexOf('acknowledged'))).toEqual(['acknowledged'])
  expect(statuses.filter((status) => status === 200)).toHaveLength(handedOver)
  expect(statuses.slice(-5)).toEqual(Array(5).fill(422))
})

test('Handovers are forgotten when they are over, also those that fail', async () => {
  const handovers = makeSmsHandovers()
  const failing = handovers.track('org', '+1', async () => {
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await handovers.track('org', '+1', async () => 7)).toBe(7)
  await handovers.settled('org', '+1')
})
