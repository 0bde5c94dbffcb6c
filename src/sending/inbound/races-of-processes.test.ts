/** An opt-out that one process receives while another one sends to the same number. */
import pg from 'pg'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { freshNumber, phoneClient } from '../../../test/clients/phone-client.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import { findListeners } from '../../platform/db/store.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { handoversChannel, handoversPresence, makeSharedHandovers } from '../messages/sms/shared-handovers.ts'

const events: string[] = []
/** Runs before the provider of a process accepts a message. */
let beforeAccepting: () => Promise<void> = async () => undefined

const smsProvider = {
  name: 'fake',
  send: async ({ messageId }: { messageId: string }) => {
    await beforeAccepting()
    events.push('handed over')
    return { provider: 'fake', providerMessageId: messageId }
  },
  close: async () => undefined,
}
const env = { RATE_LIMITER: 'off' }
const t = await startTestService({ env, smsProvider })
const other = await startTestService({ env, smsProvider, database: t.database })
afterAll(async () => {
  await other.stop()
  await t.stop()
})
beforeEach(() => {
  events.length = 0
  beforeAccepting = async () => undefined
})
const own = await phoneClient(t)

const sendWith = (service: TestService, to: string) =>
  service.ask('POST', '/api/v1/sms', { key: own.live, body: { from: own.line, to, body: 'Hello' } })
const stopAt = async (service: TestService, from: string) => {
  const reply = await service.ask('POST', '/api/dev/inbound-sms', { body: { from, to: own.line, body: 'STOP' } })
  events.push('acknowledged')
  return reply.status
}
const isSuppressed = async (number: string) => (await own.suppressed()).some(({ value }) => value === number)

const heldHandover = () => {
  const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  beforeAccepting = async () => {
    reached.resolve()
    await release.promise
  }
  return { reached: reached.promise, release: release.resolve }
}

test('S-264 A STOP is acknowledged only after a message that another process is handing over', async () => {
  const to = freshNumber()
  const held = heldHandover()
  const sending = sendWith(other, to)
  await held.reached
  const stopping = stopAt(t, to)
  await expect.poll(() => isSuppressed(to)).toBe(true)
  // A STOP to another number is asked and answered meanwhile, so the first has had the time for it.
  expect(await stopAt(t, freshNumber())).toBe(200)
  for (const service of [t, other]) expectRefusal(await sendWith(service, to), 'SUPPRESSED')
  expect(events).toEqual(['acknowledged'])
  held.release()
  expect([(await sending).status, await stopping]).toEqual([200, 200])
  expect(events).toEqual(['acknowledged', 'handed over', 'acknowledged'])
})

test('S-264 A STOP that is delivered again waits as well', async () => {
  const to = freshNumber()
  const held = heldHandover()
  const sending = sendWith(other, to)
  await held.reached
  const body = { from: to, to: own.line, body: 'STOP', provider_message_id: 'again' }
  const deliver = async () => {
    const reply = await t.ask('POST', '/api/dev/inbound-sms', { body })
    events.push(reply.body.status)
  }
  const first = deliver()
  await expect.poll(() => isSuppressed(to)).toBe(true)
  const second = deliver()
  expect(await stopAt(t, freshNumber())).toBe(200)
  expect(events).toEqual(['acknowledged'])
  held.release()
  await Promise.all([sending, first, second])
  expect(events.slice(0, 2)).toEqual(['acknowledged', 'handed over'])
  expect(events.slice(2).toSorted()).toEqual(['repeated', 'stored'])
})

test('S-264 Among many sends of two processes, none is handed over after the STOP is acknowledged', async () => {
  for (let round = 0; round < 5; round++) {
    events.length = 0
    const to = freshNumber()
    const sends: Promise<number>[] = []
    const sendAll = (n: number) => {
      for (let i = 0; i < n; i++) sends.push(sendWith(i % 2 ? t : other, to).then(({ status }) => status))
    }
    sendAll(20)
    const stop = stopAt(round % 2 ? t : other, to)
    sendAll(20)
    await stop
    sendAll(4)
    const statuses = await Promise.all(sends)
    expect(events.slice(events.indexOf('acknowledged'))).toEqual(['acknowledged'])
    expect(statuses.filter((status) => status === 200)).toHaveLength(events.length - 1)
    expect(statuses.slice(-4)).toEqual(Array(4).fill(422))
  }
})

const listeners = async () =>
  (await t.service.db.rows(findListeners, { presence: handoversPresence })).map(({ pid }) => pid)

/** A process that listens and answers only what the test makes it answer. */
const silentProcess = async () => {
  const client = new pg.Client(t.database.url)
  await client.connect()
  onTestFinished(() => client.end().catch(() => undefined))
  const asked: string[] = []
  client.on('notification', ({ payload }) => asked.push(payload ?? ''))
  await client.query(`listen ${handoversChannel}`)
  const { rows } = await client.query(
    `select pg_backend_pid() as pid, pg_advisory_lock_shared(${handoversPresence}, pg_backend_pid())`,
  )
  return { client, asked, pid: rows[0].pid as number }
}

const asking = async (waitMs?: number) => {
  const shared = makeSharedHandovers({
    db: t.service.db,
    log: silentLog(),
    own: { settled: async () => undefined },
    ...(waitMs !== undefined && { waitMs }),
  })
  await shared.start()
  onTestFinished(() => shared.close())
  return shared
}

test('S-264 A STOP does not wait for a process that dies, and waits for another one at most for a bounded time', async () => {
  const dying = await silentProcess()
  let isSettled = false
  const settled = (await asking()).settled(own.orgId, '+1').then(() => {
    isSettled = true
  })
  await expect.poll(() => dying.asked.length).toBeGreaterThan(0)
  expect(isSettled).toBe(false)
  await dying.client.end()
  await settled
  const silent = await silentProcess()
  await (await asking(50)).settled(own.orgId, '+1')
  await expect.poll(() => silent.asked.filter((payload) => payload.includes('ask'))).toHaveLength(1)
})

test('A question is asked again, and other notifications are ignored', async () => {
  const slow = await silentProcess()
  const settled = (await asking()).settled(own.orgId, '+1')
  const questions = () =>
    slow.asked.flatMap((payload) => (payload.startsWith('{"ask":"') ? [JSON.parse(payload).ask as string] : []))
  await expect.poll(() => questions().length).toBe(2)
  const [ask] = questions()
  for (const payload of ['', 'x', '{}', '{"answer":"other","pid":1}', '{"answer":7}', '{"ask":1}']) {
    await slow.client.query('select pg_notify($1, $2)', [handoversChannel, payload])
  }
  await slow.client.query('select pg_notify($1, $2)', [
    handoversChannel,
    JSON.stringify({ answer: ask, pid: slow.pid }),
  ])
  await settled
  expect(new Set(questions()).size).toBe(1)
})

test('Every process shows its presence while it runs, also after it has lost its connection', async () => {
  const before = await listeners()
  expect(before).toHaveLength(2)
  const third = await startTestService({ env, smsProvider, database: t.database })
  expect(await listeners()).toHaveLength(3)
  await third.stop()
  await expect.poll(listeners).toHaveLength(2)
  await t.database.sql(
    `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = ${handoversPresence}
       and database = (select oid from pg_database where datname = current_database())`,
  )
  const renewed = async () => (await listeners()).filter((pid) => !before.includes(pid))
  await expect.poll(renewed).toHaveLength(2)
  expect(await stopAt(t, freshNumber())).toBe(200)
})
