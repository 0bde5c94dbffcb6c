import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { type Db, openDb } from '../db/pool.ts'
import { silentLog } from '../ground/log.ts'
import { actsForMs, beatEveryMs, goneAfterMs, graceMs, makeLiveProcesses } from './live-processes.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await makeTestDatabase()
  db = openDb({ url: database.url, log: silentLog() })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

const roundsUntilGone = goneAfterMs / beatEveryMs
const roundsOfGrace = graceMs / beatEveryMs

let elapsed = 0
let isAway = false
beforeEach(async () => {
  elapsed = 0
  isAway = false
  await database.sql('delete from service_processes')
})

const processOf = () => {
  const away = () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
  const reachable: Db = {
    ...db,
    rows: (...given: Parameters<Db['rows']>) => (isAway ? away() : db.rows(...given)),
  } as Db
  return makeLiveProcesses({ db: reachable, log: silentLog(), elapsedMs: () => elapsed })
}
const rounds = async (n: number, ...processes: ReturnType<typeof processOf>[]): Promise<void> => {
  for (let i = 0; i < n; i++) {
    elapsed += beatEveryMs
    for (const one of processes) await one.round()
  }
}

test('a process that adds no beats is gone after some rounds of another one, and none that beats is', async () => {
  const [dead, alive, observer] = [processOf(), processOf(), processOf()]
  await rounds(1, dead, alive, observer)
  await rounds(roundsUntilGone - 1, alive, observer)
  expect(observer.gone()).toEqual([])
  await rounds(1, alive, observer)
  expect(observer.gone()).toEqual([dead.name()])
  await rounds(3, alive, observer)
  expect([observer.gone(), alive.gone()]).toEqual([[dead.name()], [dead.name()]])
})

test('a process that ends in order is gone at the next round', async () => {
  const [ended, observer] = [processOf(), processOf()]
  await ended.start()
  await ended.stop()
  await rounds(1, observer)
  expect(observer.gone()).toEqual([ended.name()])
})

test('after the database was away, nobody is judged until the others had time to beat again', async () => {
  const [dead, alive, observer] = [processOf(), processOf(), processOf()]
  await rounds(1, dead, alive, observer)
  const before = alive.name()
  isAway = true
  await rounds(10, alive, observer)
  isAway = false
  await rounds(roundsOfGrace - 1, observer)
  expect(observer.gone()).toEqual([])
  await rounds(1, alive, observer)
  // The one that lives has another name by now, since it could not beat for so long.
  expect(observer.gone().sort()).toEqual([dead.name(), before].sort())
})

test('a process that is found gone stays so while the database is away', async () => {
  const [dead, observer] = [processOf(), processOf()]
  await rounds(1, dead, observer)
  await rounds(roundsUntilGone, observer)
  isAway = true
  await rounds(1, observer)
  expect(observer.gone()).toEqual([dead.name()])
})

test('a process does nothing more under its name before others can think that it is gone, and then gets another name', async () => {
  expect(actsForMs).toBeLessThan(goneAfterMs)
  const own = processOf()
  await rounds(1, own)
  const first = own.name()
  expect(own.isTrusted(first)).toBe(true)
  elapsed += actsForMs - 1
  expect(own.isTrusted(first)).toBe(true)
  elapsed += 1
  expect(own.isTrusted(first)).toBe(false)
  await rounds(1, own)
  expect(own.name()).not.toBe(first)
  expect([own.isTrusted(first), own.isTrusted(own.name())]).toEqual([false, true])
})

test('a process keeps its name as long as its beats arrive', async () => {
  const own = processOf()
  await rounds(1, own)
  const first = own.name()
  await rounds(20, own)
  expect([own.name(), own.isTrusted(first)]).toEqual([first, true])
})

test('a process is trusted for the time since the beat was sent, not since it was answered', async () => {
  const slow = makeLiveProcesses({
    db: {
      ...db,
      rows: async (...given: Parameters<Db['rows']>) => {
        const rows = await db.rows(...given)
        elapsed += actsForMs
        return rows
      },
    } as Db,
    log: silentLog(),
    elapsedMs: () => elapsed,
  })
  await slow.round()
  expect(slow.isTrusted(slow.name())).toBe(false)
})

test('processes that ended long ago are forgotten', async () => {
  const own = processOf()
  await rounds(1, own)
  await database.sql("insert into service_processes values ('old', -1, $1)", [new Date(Date.now() - 2 * 3_600_000)])
  expect(await own.sweep()).toBe(1)
  expect(await database.sql('select id from service_processes')).toEqual([{ id: own.name() }])
})
