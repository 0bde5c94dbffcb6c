import { beforeEach, describe, expect, test, vi } from 'vitest'
import { makeTestDatabase } from '../../../test/service/database.ts'
import { openDb } from '../../platform/db/pool.ts'
import { statement } from '../../platform/db/statement.ts'
import { type Log, silentLog } from '../../platform/ground/log.ts'
import { type ClaimLoop, type ClaimLoopOptions, makeClaimLoop } from './claim-loop.ts'

type Logged = { text: string; retryInMs: number | undefined }

/** A queue in memory. `due` holds the rows that can be claimed, `worked` those that were handled. */
const makeQueue = (options: Partial<ClaimLoopOptions<number>> = {}) => {
  const due: number[] = []
  const worked: number[] = []
  const limits: number[] = []
  const logged: Logged[] = []
  const log = {
    error: (fields: { retry_in_ms?: number }, text: string) => logged.push({ text, retryInMs: fields.retry_in_ms }),
  } as unknown as Log
  const loop = makeClaimLoop<number>({
    name: 'test',
    claim: async (limit) => {
      limits.push(limit)
      return due.splice(0, limit)
    },
    work: async (row) => {
      worked.push(row)
    },
    log,
    ...options,
  })
  return { due, worked, claims: () => limits.length, limits, logged, loop }
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

let started: ClaimLoop[] = []

beforeEach(() => {
  vi.useFakeTimers()
  return async () => {
    vi.useRealTimers()
    await Promise.all(started.map((loop) => loop.drain()))
    started = []
  }
})

const start = (loop: ClaimLoop): void => {
  started.push(loop)
  loop.start()
}

const settle = () => vi.advanceTimersByTimeAsync(0)

describe('a running loop', () => {
  test('a loop claims batch after batch until nothing is due', async () => {
    const { due, worked, limits, loop } = makeQueue({ batch: 10 })
    due.push(...numbers(25))
    start(loop)
    await settle()
    expect(worked.toSorted((a, b) => a - b)).toEqual(numbers(25))
    expect(limits).toEqual([10, 10, 10, 10])
  })

  test('a loop waits when nothing is due, then claims again', async () => {
    const { due, worked, claims, loop } = makeQueue({ idleMs: 500 })
    start(loop)
    await settle()
    expect(claims()).toBe(1)
    await vi.advanceTimersByTimeAsync(499)
    expect(claims()).toBe(1)
    due.push(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(worked).toEqual([1])
    expect(claims()).toBe(3)
  })

  test('a loop claims at once when it is woken', async () => {
    const { due, worked, loop } = makeQueue()
    start(loop)
    await settle()
    due.push(1)
    loop.wake()
    await settle()
    expect(worked).toEqual([1])
  })

  test('a loop claims again when it is woken during a claim, which may have missed a row that became due', async () => {
    const { promise: firstClaim, resolve: endFirstClaim } = Promise.withResolvers<number[]>()
    const claims = [() => firstClaim, async () => [7]]
    const { worked, loop } = makeQueue({ claim: async () => (await claims.shift()?.()) ?? [] })
    start(loop)
    await settle()
    loop.wake()
    endFirstClaim([])
    await settle()
    expect(worked).toEqual([7])
  })

  test('a loop runs once even if it is started twice', async () => {
    const { claims, loop } = makeQueue()
    start(loop)
    loop.start()
    await settle()
    expect(claims()).toBe(1)
  })

  test('a loop works on no more rows at the same time than its concurrency allows', async () => {
    let [atOnce, most] = [0, 0]
    const { due, loop, claims } = makeQueue({
      batch: 30,
      concurrency: 4,
      work: async () => {
        most = Math.max(most, ++atOnce)
        await new Promise((resolve) => setTimeout(resolve, 10))
        atOnce--
      },
    })
    due.push(...numbers(30))
    start(loop)
    await vi.advanceTimersByTimeAsync(100)
    expect(most).toBe(4)
    expect(claims()).toBeGreaterThan(1)
  })

  test('a loop continues when a row fails, and logs the failure', async () => {
    const worked: number[] = []
    const { due, logged, loop } = makeQueue({
      batch: 3,
      concurrency: 1,
      work: async (row) => {
        if (row % 2 === 0) throw new Error(`row ${row}`)
        worked.push(row)
      },
    })
    due.push(...numbers(6))
    start(loop)
    await settle()
    expect(worked).toEqual([1, 3, 5])
    expect(logged.map(({ text }) => text)).toEqual(new Array(3).fill('claimed row failed'))
  })
})

describe('a loop that cannot claim', () => {
  test('a loop waits longer after each failure, up to 30 seconds, and starts over after a success', async () => {
    let down = true
    let due: number[] = []
    const claim = vi.fn(async () => {
      if (down) throw new Error('no database')
      return due.splice(0)
    })
    const { logged, worked, loop } = makeQueue({ claim })
    start(loop)
    await settle()
    for (const wait of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      expect(logged.at(-1)).toEqual({ text: 'claim failed', retryInMs: wait })
      const tries = claim.mock.calls.length
      await vi.advanceTimersByTimeAsync(wait - 1)
      expect(claim).toHaveBeenCalledTimes(tries)
      await vi.advanceTimersByTimeAsync(1)
      expect(claim).toHaveBeenCalledTimes(tries + 1)
    }
    down = false
    due = [1]
    await vi.advanceTimersByTimeAsync(30_000)
    expect(worked).toEqual([1])
    down = true
    await vi.advanceTimersByTimeAsync(500)
    expect(logged.at(-1)!.retryInMs).toBe(1_000)
  })

  test('a loop can be drained while it waits after a failure', async () => {
    const { loop } = makeQueue({
      claim: async () => {
        throw new Error('no database')
      },
    })
    start(loop)
    await settle()
    await loop.drain()
  })
})

describe('drain', () => {
  test('drain finishes every claimed row and claims no more', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const worked: number[] = []
    const { due, claims, loop } = makeQueue({
      batch: 10,
      concurrency: 2,
      work: async (row) => {
        await gate
        worked.push(row)
      },
    })
    due.push(...numbers(25))
    start(loop)
    await settle()
    let drained = false
    const draining = loop.drain().then(() => {
      drained = true
    })
    await settle()
    expect(drained).toBe(false)
    open()
    await draining
    expect(worked.toSorted((a, b) => a - b)).toEqual(numbers(10))
    expect(due).toHaveLength(15)
    expect(claims()).toBe(1)
  })

  test('drain finishes the rows of a claim that is still running', async () => {
    const { promise: claimed, resolve: endClaim } = Promise.withResolvers<number[]>()
    const { worked, loop } = makeQueue({ claim: () => claimed })
    start(loop)
    const draining = loop.drain()
    endClaim([1, 2])
    await draining
    expect(worked).toEqual([1, 2])
  })

  test('drain waits for a pass, which ends after its claimed rows', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const { due, loop } = makeQueue({ batch: 10, work: () => gate })
    due.push(...numbers(25))
    const passing = loop.pass()
    await settle()
    let drained = false
    const draining = loop.drain().then(() => {
      drained = true
    })
    await settle()
    expect(drained).toBe(false)
    open()
    await draining
    expect(await passing).toBe(10)
    expect(due).toHaveLength(15)
  })

  test('drain returns at once when the loop waits or was never started, and the loop cannot be started again', async () => {
    const { loop: waiting } = makeQueue()
    waiting.start()
    await settle()
    await waiting.drain()
    const { loop: never, claims } = makeQueue()
    await never.drain()
    expect(() => never.start()).toThrow('the test loop has been drained and cannot be started again')
    expect(claims()).toBe(0)
  })
})

describe('a pass', () => {
  test('a pass works until nothing is due and returns the number of rows', async () => {
    const { due, worked, loop } = makeQueue({ batch: 10 })
    expect(await loop.pass()).toBe(0)
    due.push(...numbers(25))
    expect(await loop.pass()).toBe(25)
    expect(worked).toHaveLength(25)
  })

  test('a pass fails when claiming fails', async () => {
    const { loop } = makeQueue({
      claim: async () => {
        throw new Error('no database')
      },
    })
    await expect(loop.pass()).rejects.toThrow('no database')
    await loop.drain()
  })
})

test('two loops on one table share its rows, and each row is worked on once', async () => {
  vi.useRealTimers()
  const database = await makeTestDatabase('empty')
  await database.sql('create table jobs (id int primary key, claimed_by text, worked int not null default 0)')
  await database.sql('insert into jobs (id) select generate_series(1, 2000)')
  const db = openDb({ url: database.url, log: silentLog(), poolSize: 8 })
  const claimJobs = statement<{ by: string; limit: number }, { id: number }>(
    'test.claim_jobs',
    `update jobs set claimed_by = :by where id in (
       select id from jobs where claimed_by is null order by id limit :limit for update skip locked)
     returning id`,
  )
  const recordJob = statement<{ id: number; by: string }>(
    'test.record_job',
    'update jobs set worked = worked + 1 where id = :id and claimed_by = :by',
  )
  const loops = ['a', 'b'].map((name) =>
    makeClaimLoop({
      name,
      claim: (limit) => db.rows(claimJobs, { by: name, limit }),
      work: async ({ id }) => {
        await db.change(recordJob, { id, by: name })
      },
      log: silentLog(),
      batch: 50,
      idleMs: 5,
    }),
  )
  for (const loop of loops) loop.start()
  const count = async (where: string) =>
    (await database.sql<{ count: number }>(`select count(*)::int as count from jobs where ${where}`))[0]!.count
  await expect.poll(() => count('worked > 0')).toBe(2_000)
  await Promise.all(loops.map((loop) => loop.drain()))
  expect(await count('worked = 1')).toBe(2_000)
  expect(await count("claimed_by = 'a'")).toBeGreaterThan(0)
  expect(await count("claimed_by = 'b'")).toBeGreaterThan(0)
  await db.close()
  await database.drop()
})
