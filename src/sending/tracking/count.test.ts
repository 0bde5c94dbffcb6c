import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import type { Db } from '../../platform/db/pool.ts'
import { statement } from '../../platform/db/statement.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import { makeCountHits, makeRecent, maxHitsPerHour } from './count.ts'
import type { MessageRef } from './tokens.ts'

let t: TestService
let orgId: string
beforeAll(async () => {
  t = await startTestService()
  orgId = (await t.org()).org.id
})
afterAll(() => t.stop())

const sent = async (): Promise<MessageRef> => {
  const messageId = newId('message', t.service.clock.millis())
  await t.database.sql(
    `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address,
       to_addresses, track_opens, track_clicks)
     values ($1, $2, $3, 'live', 'prj', 'email', 'sent', 'a@example.test', '{ann@example.com}', true, true)`,
    [orgId, messageId, new Date(timeOfId(messageId))],
  )
  return { orgId, messageId }
}

const countedOf = async ({ messageId }: MessageRef) => {
  const [row] = await t.database.sql(
    `select (select count(*)::int from events where org_id = $1 and data->>'message_id' = $2) as events,
       (select count(*)::int from message_events where org_id = $1 and message_id = $2) as rows,
       (select count(*)::int from tracking_marks where org_id = $1 and message_id = $2) as marks,
       (select hits from tracking_windows where org_id = $1 and message_id = $2) as hits`,
    [orgId, messageId],
  )
  return row
}

const fill = (message: MessageRef, hits: number) =>
  t.database.sql('insert into tracking_windows (org_id, message_id, started_at, hits) values ($1, $2, $3, $4)', [
    orgId,
    message.messageId,
    t.service.clock.now(),
    hits,
  ])

const writes = statement<Record<string, never>, { xid: string | null }>(
  'test.tracking_writes',
  'select pg_current_xact_id_if_assigned()::text as xid',
)

/** A process of its own, with an empty memory. It counts its statements and those that wrote or locked a row. */
const startProcess = () => {
  const seen = { statements: 0, writing: 0 }
  const rows: Db['rows'] = (given, ...params) =>
    t.service.db.tx(async (tx) => {
      seen.statements++
      const result = await tx.rows(given, ...params)
      if ((await tx.row(writes, {}))?.xid !== null) seen.writing++
      return result
    })
  const count = makeCountHits({
    db: { rows, change: t.service.db.change },
    clock: t.service.clock,
    announce: () => undefined,
  })
  return { ...count, seen }
}

const addresses = (count: number, network = 1) => Array.from({ length: count }, (_, i) => `10.${network}.0.${i}`)
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })

test('X-093 X-096 a repeated open or click writes nothing, and the process that counted it reads nothing', async () => {
  const message = await sent()
  const click = { ...message, url: 'https://shop.example/1' }
  const [one, two] = [startProcess(), startProcess()]
  expect([await one.opened(message, '10.0.0.1'), await one.clicked(click, '10.0.0.1')]).toEqual([true, true])
  expect(one.seen).toEqual({ statements: 2, writing: 2 })
  for (let i = 0; i < 3; i++) {
    for (const { opened, clicked } of [one, two]) {
      expect([await opened(message, '10.0.0.1'), await clicked(click, '10.0.0.1')]).toEqual([false, false])
    }
  }
  expect([one.seen, two.seen]).toEqual([
    { statements: 2, writing: 2 },
    { statements: 2, writing: 0 },
  ])
  expect(await countedOf(message)).toEqual({ events: 2, rows: 2, marks: 2, hits: 2 })
})

test('X-093 R-56 the addresses of an IPv6 /64 count once, and the stored open has the full address', async () => {
  const message = await sent()
  const { opened } = startProcess()
  expect(await opened(message, '2001:db8:0:1::a')).toBe(true)
  expect(await opened(message, '2001:db8:0:1:b::c')).toBe(false)
  expect(await opened(message, '2001:db8:0:2::a')).toBe(true)
  const rows = await t.database.sql('select address from message_events where message_id = $1 order by id', [
    message.messageId,
  ])
  expect(rows).toEqual([{ address: '2001:db8:0:1::a' }, { address: '2001:db8:0:2::a' }])
})

test('X-093 equal concurrent opens need one statement in a process', async () => {
  const message = await sent()
  const { opened, seen } = startProcess()
  const results = await Promise.all(Array.from({ length: 50 }, () => opened(message, '10.0.0.1')))
  expect([results.filter(Boolean).length, seen]).toEqual([1, { statements: 1, writing: 1 }])
  expect(await countedOf(message)).toEqual({ events: 1, rows: 1, marks: 1, hits: 1 })
})

test('X-093 an address counts again after an hour, also in a process that learnt of it from another', async () => {
  const message = await sent()
  const [one, two] = [startProcess(), startProcess()]
  expect(await one.opened(message, '10.0.0.1')).toBe(true)
  await advance(1_800)
  expect(await two.opened(message, '10.0.0.1')).toBe(false)
  await advance(1_795)
  expect([await two.opened(message, '10.0.0.1'), await one.opened(message, '10.0.0.1')]).toEqual([false, false])
  await advance(10)
  expect([await two.opened(message, '10.0.0.1'), await one.opened(message, '10.0.0.1')]).toEqual([true, false])
  expect(await countedOf(message)).toEqual({ events: 2, rows: 2, marks: 1, hits: 1 })
})

test('a message counts at most 10,000 hits in an hour, whatever their kind and in one statement or several', async () => {
  expect(maxHitsPerHour).toBe(10_000)
  const message = await sent()
  await fill(message, 9_995)
  const { opened, clicked, seen } = startProcess()
  expect(await clicked({ ...message, url: 'https://shop.example/' }, '10.0.0.1')).toBe(true)
  const results = await Promise.all(addresses(40).map((address) => opened(message, address)))
  expect(results.filter(Boolean)).toHaveLength(4)
  const full = await countedOf(message)
  expect(full).toMatchObject({ events: 5, rows: 5, marks: 5 })

  // The first hit above the limit reads that the message is full. Later ones do not reach the database.
  const before = { ...seen }
  expect(await opened(message, '10.9.0.1')).toBe(false)
  expect(seen).toEqual({ statements: before.statements + 1, writing: before.writing })
  for (const address of addresses(20, 8)) expect(await opened(message, address)).toBe(false)
  expect(seen).toEqual({ statements: before.statements + 1, writing: before.writing })
  expect(await countedOf(message)).toEqual(full)

  const other = await sent()
  expect(await opened(other, '10.9.0.1')).toBe(true)
  await advance(3_605)
  expect(await opened(message, '10.9.0.1')).toBe(true)
  expect(await countedOf(message)).toEqual({ events: 6, rows: 6, marks: 6, hits: 1 })
})

test('concurrent processes together count exactly up to the limit', async () => {
  const message = await sent()
  await fill(message, 9_930)
  const processes = [startProcess(), startProcess(), startProcess()]
  const results = await Promise.all(
    processes.flatMap(({ opened }, i) => addresses(150, i).map((address) => opened(message, address))),
  )
  expect(results.filter(Boolean)).toHaveLength(70)
  expect(await countedOf(message)).toMatchObject({ events: 70, rows: 70, marks: 70 })
})

test('at most 10,000 hits wait for a slow database, and further ones are rejected', async () => {
  const message = await sent()
  const { promise: released, resolve: release } = Promise.withResolvers<never[]>()
  const count = makeCountHits({
    db: { rows: () => released, change: t.service.db.change },
    clock: t.service.clock,
    announce: () => undefined,
  })
  const waiting = Array.from({ length: 10_000 }, (_, i) => count.opened(message, `a${i}`))
  await expect(count.opened(message, 'b')).rejects.toThrow('too many opens and clicks are waiting to be counted')
  // The same hit does not wait twice.
  const repeated = count.opened(message, 'a1')
  release([])
  expect(new Set(await Promise.all([...waiting, repeated]))).toEqual(new Set([false]))
  await count.drained()
  expect(await count.opened(message, 'b')).toBe(false)
})

test('the memory of a process forgets the oldest names at its capacity, and every name at its time', () => {
  const recent = makeRecent(3)
  for (const name of ['a', 'b', 'c']) recent.add(name, 100)
  recent.add('a', 200)
  recent.add('d', 100)
  expect(['a', 'b', 'c', 'd'].map((name) => recent.has(name, 99))).toEqual([true, false, true, true])
  expect(recent.size()).toBe(3)
  expect(['a', 'c', 'd'].map((name) => recent.has(name, 100))).toEqual([true, false, false])
  expect(recent.size()).toBe(1)
})
