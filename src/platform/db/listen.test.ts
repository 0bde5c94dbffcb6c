import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFreezingProxy } from '../../../test/servers/freezing-proxy.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { silentLog } from '../ground/log.ts'
import { type Listener, listen } from './listen.ts'
import { type Db, openDb } from './pool.ts'

let database: TestDatabase
let db: Db
let received: string[]
let gaps: number
let databaseDown: boolean
let listener: Listener | undefined

beforeAll(async () => {
  database = await makeTestDatabase('empty')
  db = openDb({ url: database.url, log: silentLog(), name: 'listen test' })
})

afterAll(async () => {
  await db.close()
  await database.drop()
})

beforeEach(() => {
  received = []
  gaps = 0
  databaseDown = false
  listener = undefined
  return async () => {
    await listener?.close()
    await expect.poll(sessions).toEqual([])
  }
})

const start = async (connect = db.connect, replyTimeoutMs?: number) => {
  listener = await listen({
    connect: async () => {
      if (databaseDown) throw new Error('the database is down')
      return connect()
    },
    log: silentLog(),
    channel: 'things',
    onMessage: (payload) => received.push(payload),
    onGap: () => {
      gaps++
    },
    ...(replyTimeoutMs !== undefined && { replyTimeoutMs }),
  })
  return listener
}

const sessions = async (): Promise<number[]> =>
  (
    await database.sql<{ pid: number }>(
      "select pid from pg_stat_activity where datname = current_database() and application_name = 'listen test'",
    )
  ).map(({ pid }) => pid)

const endSessions = async () => {
  for (const pid of await sessions()) await database.sql('select pg_terminate_backend($1, 5000)', [pid])
}

const notify = (payload: string) => database.sql('select pg_notify($1, $2)', ['things', payload])

test('notifications of the channel arrive in order, and those of other channels do not arrive', async () => {
  const { healthy } = await start()
  expect(healthy()).toBe(true)
  for (const payload of ['a', 'b', '', 'c']) await notify(payload)
  await database.sql("select pg_notify('others', 'x')")
  await notify('last')
  await expect.poll(() => received).toEqual(['a', 'b', '', 'c', 'last'])
})

test('a notification in a transaction arrives when it commits and not when it is rolled back', async () => {
  await start()
  await database.sql("begin; notify things, 'undone'; rollback")
  await database.sql("begin; notify things, 'done'; commit")
  await expect.poll(() => received).toEqual(['done'])
})

test('onGap is called at start, because earlier notifications were missed', async () => {
  await start()
  expect(gaps).toBe(1)
})

describe('a lost connection', () => {
  test('calls onGap when it is lost and when it is back, and notifications then arrive again', async () => {
    const { healthy } = await start()
    databaseDown = true
    await endSessions()
    await expect.poll(healthy).toBe(false)
    expect(gaps).toBe(2)
    await notify('missed')
    databaseDown = false
    await expect.poll(healthy).toBe(true)
    expect(gaps).toBe(3)
    await notify('received')
    await expect.poll(() => received).toEqual(['received'])
    expect(await sessions()).toHaveLength(1)
  })

  test('reconnects every time it is lost', async () => {
    const { healthy } = await start()
    for (let time = 1; time <= 3; time++) {
      await endSessions()
      await expect.poll(() => gaps).toBe(1 + 2 * time)
      expect(healthy()).toBe(true)
      await notify(String(time))
      await expect.poll(() => received.at(-1)).toBe(String(time))
    }
  })

  test('reconnects after an attempt at a server that accepts the connection and never replies', async () => {
    const proxy = await startFreezingProxy(database.url)
    const proxied = openDb({ url: proxy.url, log: silentLog(), name: 'listen test' })
    let freezes = 0
    const connect = async () => {
      const client = await proxied.connect()
      if (gaps === 2 && freezes++ === 0) proxy.freeze()
      return client
    }
    const { healthy } = await start(connect, 200)
    await endSessions()
    await expect.poll(() => gaps).toBe(3)
    expect(freezes).toBe(2)
    expect(healthy()).toBe(true)
    await notify('received')
    await expect.poll(() => received).toEqual(['received'])
    await listener?.close()
    await proxied.close()
    await proxy.close()
  })

  test('at the first attempt makes the start fail', async () => {
    databaseDown = true
    await expect(start()).rejects.toThrow('the database is down')
  })
})

describe('close', () => {
  test('ends the connection, which does not reconnect', async () => {
    const { close, healthy } = await start()
    await close()
    expect(healthy()).toBe(false)
    await expect.poll(sessions).toEqual([])
  })

  test('during a reconnect leaves no connection open', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const { promise: reconnecting, resolve: reached } = Promise.withResolvers<void>()
    let first = true
    const { close, healthy } = await start(async () => {
      if (first) {
        first = false
        return db.connect()
      }
      reached()
      await gate
      return db.connect()
    })
    await endSessions()
    await reconnecting
    await close()
    open()
    await expect.poll(sessions).toEqual([])
    // Long enough for the delayed connection to be made.
    await new Promise((resolve) => setTimeout(resolve, 200))
    await expect.poll(sessions).toEqual([])
    expect(healthy()).toBe(false)
  })
})
