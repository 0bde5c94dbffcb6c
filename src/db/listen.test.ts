import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeTestDatabase, type TestDatabase } from '../../test/service/database.ts'
import { silentLog } from '../ground/log.ts'
import { type Listener, listen } from './listen.ts'
import { type Db, openDb } from './pool.ts'

let database: TestDatabase
let db: Db
let heard: string[]
let gaps: number
let refusing: boolean
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
  heard = []
  gaps = 0
  refusing = false
  listener = undefined
  return async () => {
    await listener?.close()
    await expect.poll(sessions).toEqual([])
  }
})

const start = async (connect = db.connect) => {
  listener = await listen({
    connect: async () => {
      if (refusing) throw new Error('the database is down')
      return connect()
    },
    log: silentLog(),
    channel: 'things',
    onMessage: (payload) => heard.push(payload),
    onGap: () => {
      gaps++
    },
  })
  return listener
}

const sessions = async (): Promise<number[]> =>
  (
    await database.sql<{ pid: number }>(
      "select pid from pg_stat_activity where datname = current_database() and application_name = 'listen test'",
    )
  ).map(({ pid }) => pid)

const cut = async () => {
  for (const pid of await sessions()) await database.sql('select pg_terminate_backend($1, 5000)', [pid])
}

const notify = (payload: string) => database.sql('select pg_notify($1, $2)', ['things', payload])

test('what is said on the channel arrives in order, and nothing of other channels', async () => {
  const { healthy } = await start()
  expect(healthy()).toBe(true)
  for (const payload of ['a', 'b', '', 'c']) await notify(payload)
  await database.sql("select pg_notify('others', 'x')")
  await notify('last')
  await expect.poll(() => heard).toEqual(['a', 'b', '', 'c', 'last'])
})

test('what a transaction says arrives when it commits, and never when it does not', async () => {
  await start()
  await database.sql("begin; notify things, 'undone'; rollback")
  await database.sql("begin; notify things, 'done'; commit")
  await expect.poll(() => heard).toEqual(['done'])
})

test('the start tells of a gap, since what was said before was not heard', async () => {
  await start()
  expect(gaps).toBe(1)
})

describe('a lost connection', () => {
  test('is told of at once and again when it is back, and messages arrive as before', async () => {
    const { healthy } = await start()
    refusing = true
    await cut()
    await expect.poll(healthy).toBe(false)
    expect(gaps).toBe(2)
    await notify('missed')
    refusing = false
    await expect.poll(healthy).toBe(true)
    expect(gaps).toBe(3)
    await notify('heard')
    await expect.poll(() => heard).toEqual(['heard'])
    expect(await sessions()).toHaveLength(1)
  })

  test('is mended as often as it happens', async () => {
    const { healthy } = await start()
    for (let time = 1; time <= 3; time++) {
      await cut()
      await expect.poll(() => gaps, { timeout: 5_000 }).toBe(1 + 2 * time)
      expect(healthy()).toBe(true)
      await notify(String(time))
      await expect.poll(() => heard.at(-1)).toBe(String(time))
    }
  })

  test('that fails the first time is the fault of the start', async () => {
    refusing = true
    await expect(start()).rejects.toThrow('the database is down')
  })
})

describe('close', () => {
  test('ends the connection, and it does not come back', async () => {
    const { close, healthy } = await start()
    await close()
    expect(healthy()).toBe(false)
    await expect.poll(sessions).toEqual([])
  })

  test('while a new connection is being made leaves none behind', async () => {
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
    await cut()
    await reconnecting
    await close()
    open()
    await expect.poll(sessions).toEqual([])
    // Long enough for the connection let through just now to have been made.
    await new Promise((resolve) => setTimeout(resolve, 200))
    await expect.poll(sessions).toEqual([])
    expect(healthy()).toBe(false)
  })
})
