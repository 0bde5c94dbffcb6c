import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { silentLog } from '../ground/log.ts'
import { type Batcher, makeBatcher, makeStepBatcher } from './batch.ts'
import { type Db, openDb } from './pool.ts'
import { type NoParams, statement } from './statement.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await turn()
}

const refused = (id: number) => Object.assign(new Error(`row ${id} is bad`), { code: '23514' })
const lost = (id: number) => Object.assign(new Error(`row ${id} lost its connection`), { code: '08006' })

/**
 * What the item does to its statement: nothing, a refusal that undoes it cleanly, a lost connection that leaves the
 * outcome unknown, or a result for too few or too many items.
 */
type Fate = 'fine' | 'refused' | 'lost' | 'short' | 'long'
type Item = { id: number; caller: string; fate: Fate }
type Attempt = { items: Item[]; failed?: unknown }

/** A database that behaves as its items say, and records the statements. */
const scriptedStore = (delays: () => number) => {
  const attempts: Attempt[] = []
  const written: Item[] = []
  const underWay = new Set<Item[]>()
  let most = 0
  return {
    attempts,
    written,
    most: () => most,
    underWay,
    /** Callers that had items in two statements at once. */
    overlaps: [] as string[],
    async run(items: Item[]): Promise<string[]> {
      for (const other of underWay) {
        const callers = new Set(other.map((item) => item.caller))
        this.overlaps.push(...items.filter((item) => callers.has(item.caller)).map((item) => item.caller))
      }
      const attempt: Attempt = { items }
      attempts.push(attempt)
      underWay.add(items)
      most = Math.max(most, underWay.size)
      await turns(delays())
      underWay.delete(items)
      const of = (fate: Fate) => items.find((item) => item.fate === fate)
      const [gone, bad] = [of('lost'), of('refused')]
      if (gone || bad) {
        attempt.failed = gone ? lost(gone.id) : refused(bad!.id)
        throw attempt.failed
      }
      written.push(...items)
      const answers = items.map((item) => `answer ${item.id}`)
      if (of('short')) return answers.slice(1)
      return of('long') ? [...answers, 'too much'] : answers
    },
  }
}

const fates = (...weighted: [Fate, number][]) =>
  fc.oneof(...weighted.map(([fate, weight]) => ({ weight, arbitrary: fc.constant(fate) })))

const anyFate = fates(['fine', 12], ['refused', 3], ['lost', 1], ['short', 1], ['long', 1])

const scenario = fc.record({
  arrivals: fc.array(fc.record({ caller: fc.constantFrom('a', 'b', 'c', 'd'), fate: anyFate, gap: fc.nat(3) }), {
    minLength: 1,
    maxLength: 40,
    size: 'max',
  }),
  delays: fc.infiniteStream(fc.nat(6)),
  maxItems: fc.integer({ min: 1, max: 6 }),
  concurrency: fc.integer({ min: 1, max: 3 }),
  inOrder: fc.boolean(),
  onePerCaller: fc.boolean(),
})

const play = async (script: typeof scenario extends fc.Arbitrary<infer S> ? S : never) => {
  const store = scriptedStore(() => script.delays.next().value as number)
  const batcher = makeBatcher<Item, string>({
    name: 'test.batch',
    run: (items) => store.run(items),
    ...((script.inOrder || script.onePerCaller) && { caller: (item: Item) => item.caller }),
    ...(script.onePerCaller && { onePerCaller: true as const }),
    maxItems: script.maxItems,
    concurrency: script.concurrency,
    waitMs: 1,
  })
  const items: Item[] = []
  const settled: Promise<PromiseSettledResult<string>>[] = []
  for (const { caller, fate, gap } of script.arrivals) {
    await turns(gap)
    const item = { id: items.length, caller, fate }
    items.push(item)
    settled.push(Promise.allSettled([batcher.submit(item)]).then(([result]) => result!))
  }
  await batcher.drained()
  return { store, batcher, items, results: await Promise.all(settled) }
}

describe('for any arrivals and any outcomes of the statements', () => {
  const holds = (check: (played: Awaited<ReturnType<typeof play>>, script: Parameters<typeof play>[0]) => void) =>
    fc.assert(
      fc.asyncProperty(scenario, async (script) => check(await play(script), script)),
      { numRuns: 150 },
    )

  test('every call gets its own result or its own error, and none is lost', async () => {
    await holds(({ store, items, results }) => {
      expect(results).toHaveLength(items.length)
      results.forEach((result, i) => {
        const item = items[i]!
        if (result.status === 'fulfilled') expect(result.value).toBe(`answer ${i}`)
        const last = store.attempts.findLast((attempt) => attempt.items.includes(item))!
        const othersFates = last.items.map((other) => other.fate)
        if (othersFates.every((fate) => fate === 'fine')) expect(result.status).toBe('fulfilled')
        else expect(result.status).toBe('rejected')
        if (result.status === 'rejected' && last.failed) expect(result.reason).toBe(last.failed)
      })
    })
  })

  test('a refused row fails alone', async () => {
    await holds(({ items, results }) => {
      results.forEach((result, i) => {
        if (result.status === 'fulfilled' || result.reason.code !== '23514') return
        expect(result.reason.message).toBe(`row ${i} is bad`)
        expect(items[i]!.fate).toBe('refused')
      })
    })
  })

  test('a statement that may have taken effect is never retried, and a result means one write', async () => {
    await holds(({ store, items, results }) => {
      for (const item of items) {
        const tries = store.attempts.filter((attempt) => attempt.items.includes(item))
        const again = tries.slice(0, -1)
        for (const { failed, items: together } of again) {
          expect(failed).toMatchObject({ code: '23514' })
          expect(together.length).toBeGreaterThan(1)
        }
        expect(tries.length).toBeLessThanOrEqual(2)
        if (tries.length === 2) expect(tries[1]!.items).toEqual([item])
        const writes = store.written.filter((other) => other === item).length
        if (results[item.id]!.status === 'fulfilled') expect(writes).toBe(1)
        else expect(writes).toBeLessThanOrEqual(1)
      }
    })
  })

  test('a lost connection rejects every item of the statement', async () => {
    await holds(({ store, results }) => {
      for (const { items, failed } of store.attempts) {
        if ((failed as { code?: string } | undefined)?.code !== '08006') continue
        for (const { id } of items) expect(results[id]).toEqual({ status: 'rejected', reason: failed })
      }
    })
  })

  test('concurrency and batch size stay within their limits', async () => {
    await holds(({ store }, { concurrency, maxItems }) => {
      expect(store.most()).toBeLessThanOrEqual(concurrency)
      for (const { items } of store.attempts) expect(items.length).toBeLessThanOrEqual(maxItems)
    })
  })

  test('items of one caller run in order, one statement at a time', async () => {
    await holds(({ store, items }, { inOrder, onePerCaller }) => {
      if (!inOrder && !onePerCaller) return
      expect(store.overlaps).toEqual([])
      for (const caller of 'abcd') {
        const given = items.filter((item) => item.caller === caller)
        const written = store.written.filter((item) => item.caller === caller)
        expect(written).toEqual(given.filter((item) => written.includes(item)))
        const first = new Set(store.attempts.flatMap((attempt) => attempt.items).filter((i) => i.caller === caller))
        expect([...first]).toEqual(given)
      }
    })
  })

  test('with onePerCaller, no statement has two items of one caller', async () => {
    await holds(({ store }, { onePerCaller }) => {
      if (!onePerCaller) return
      for (const { items } of store.attempts) {
        expect(new Set(items.map((item) => item.caller)).size).toBe(items.length)
      }
    })
  })

  test('drained resolves once every call is settled, and the batcher keeps working', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (script) => {
        const { store, batcher, results } = await play(script)
        expect(store.underWay.size).toBe(0)
        expect(results).toHaveLength(script.arrivals.length)
        const item: Item = { id: 99, caller: 'a', fate: 'fine' }
        expect(await batcher.submit(item)).toBe('answer 99')
        await batcher.drained()
      }),
      { numRuns: 50 },
    )
  })
})

describe('the pace of statements', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Statements run until the test ends them; timers move only when the test moves them. */
  const held = (
    options: { maxItems?: number; concurrency?: number; caller?: (item: number) => string } = {},
    make: typeof makeBatcher<number, number> = makeBatcher,
  ) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const runs: { items: number[]; end: () => void }[] = []
    const batcher: Batcher<number, number> = make({
      name: 'test.held',
      run: (items: number[]) => new Promise<number[]>((resolve) => runs.push({ items, end: () => resolve(items) })),
      waitMs: 2,
      ...options,
    })
    return { runs, batcher, items: () => runs.map((run) => run.items) }
  }

  test('an idle batcher runs a lone call in the same turn of the event loop, without a timer', async () => {
    const { runs, batcher, items } = held()
    const answer = batcher.submit(1)
    await turn()
    expect(items()).toEqual([[1]])
    expect(vi.getTimerCount()).toBe(0)
    runs[0]!.end()
    expect(await answer).toBe(1)
    const second = batcher.submit(2)
    await turns(2)
    expect(items()).toEqual([[1], [2]])
    expect(vi.getTimerCount()).toBe(0)
    runs[1]!.end()
    await second
  })

  test('calls of one turn share a statement', async () => {
    const { runs, batcher, items } = held()
    const answers = Promise.all([1, 2, 3].map((item) => batcher.submit(item)))
    await turn()
    expect(items()).toEqual([[1, 2, 3]])
    runs[0]!.end()
    expect(await answers).toEqual([1, 2, 3])
  })

  test('while one statement runs, a second waits for more items, but not longer than waitMs', async () => {
    const { runs, batcher, items } = held()
    const answers = [batcher.submit(1)]
    await turn()
    answers.push(batcher.submit(2))
    await turn()
    answers.push(batcher.submit(3))
    await turns(5)
    expect(items()).toEqual([[1]])
    vi.advanceTimersByTime(2)
    expect(items()).toEqual([[1], [2, 3]])
    for (const { end } of runs) end()
    expect(await Promise.all(answers)).toEqual([1, 2, 3])
  })

  test('a full batch starts at once, unless the concurrency limit is reached', async () => {
    const { runs, batcher, items } = held({ maxItems: 2, concurrency: 2 })
    const answers = [1, 2, 3, 4, 5, 6, 7].map((item) => batcher.submit(item))
    await turn()
    expect(items()).toEqual([
      [1, 2],
      [3, 4],
    ])
    vi.advanceTimersByTime(1_000)
    await turns(5)
    expect(items()).toHaveLength(2)
    runs[1]!.end()
    await turns(5)
    expect(items()[2]).toEqual([5, 6])
    for (const { end } of runs) end()
    await turns(5)
    expect(items()[3]).toEqual([7])
    runs[3]!.end()
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  test('a step batcher runs one full batch after another, and starts a second one only after the wait', async () => {
    const { runs, batcher, items } = held({ maxItems: 2 }, makeStepBatcher)
    const answers = [1, 2, 3, 4, 5].map((item) => batcher.submit(item))
    await turns(5)
    expect(items()).toEqual([[1, 2]])
    runs[0]!.end()
    await turns(5)
    expect(items()).toEqual([
      [1, 2],
      [3, 4],
    ])
    vi.advanceTimersByTime(2)
    expect(items()[2]).toEqual([5])
    for (const { end } of runs) end()
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5])
  })

  test('a busy caller does not delay others, and its own items follow without a timer', async () => {
    const { runs, batcher, items } = held({ caller: (item) => (item < 10 ? 'busy' : 'other') })
    const answers = [1, 2].map((item) => batcher.submit(item))
    await turn()
    answers.push(batcher.submit(3), batcher.submit(10))
    vi.advanceTimersByTime(2)
    expect(items()).toEqual([[1, 2], [10]])
    runs[1]!.end()
    await turns(5)
    vi.advanceTimersByTime(2)
    expect(items()).toHaveLength(2)
    runs[0]!.end()
    await turns(5)
    expect(items()[2]).toEqual([3])
    runs[2]!.end()
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 10])
  })

  test('drained waits for queued and running items only', async () => {
    const { runs, batcher } = held({ concurrency: 1 })
    await batcher.drained()
    const answers = [batcher.submit(1)]
    await turn()
    answers.push(batcher.submit(2))
    let drained = false
    const waiting = Promise.all([batcher.drained(), batcher.drained()]).then(() => {
      drained = true
    })
    await turns(5)
    runs[0]!.end()
    await turns(5)
    expect(drained).toBe(false)
    runs[1]!.end()
    await waiting
    await Promise.all(answers)
  })
})

test('large items share a statement only up to its weight limit, in order', async () => {
  const statements: number[][] = []
  const batcher = makeBatcher<number, number>({
    name: 'test.large',
    run: async (items) => {
      statements.push(items)
      return items
    },
    weight: (item) => item * 1_000_000,
    concurrency: 1,
  })
  await Promise.all([3, 3, 2, 1, 20, 8, 1, 1].map((item) => batcher.submit(item)))
  expect(statements).toEqual([[3, 3, 2], [1], [20], [8], [1, 1]])
})

test('a call whose caller function throws is rejected and not queued', async () => {
  const batcher = makeBatcher<number, number>({
    name: 'test.unnamed',
    run: async (items) => items,
    caller: () => {
      throw new Error('who is it?')
    },
  })
  await expect(batcher.submit(1)).rejects.toThrow('who is it?')
  await batcher.drained()
})

describe('on the database', () => {
  let database: TestDatabase
  let db: Db

  const insert = statement<{ ids: number[]; amounts: number[] }, { id: number; total: number }>(
    'test.batch_insert',
    `insert into entries (id, amount)
     select * from unnest(:ids::int[], :amounts::int[])
     returning id, amount * 2 as total`,
  )
  const endSession = statement<NoParams, { ended: boolean }>(
    'test.batch_end_session',
    'select pg_terminate_backend(pg_backend_pid()) as ended',
  )

  type Entry = { id: number; amount: number; cut?: boolean }

  beforeAll(async () => {
    database = await makeTestDatabase('empty')
    await database.sql('create table entries (id int primary key, amount int not null check (amount > 0))')
    db = openDb({ url: database.url, log: silentLog(), poolSize: 4 })
  })

  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const batcherOn = () => {
    let statements = 0
    const batcher = makeBatcher<Entry, number>({
      name: 'test.batch_insert',
      run: async (entries) => {
        statements++
        const rows = await db.tx(async (tx) => {
          const made = await tx.rows(insert, {
            ids: entries.map((entry) => entry.id),
            amounts: entries.map((entry) => entry.amount),
          })
          if (entries.some((entry) => entry.cut)) await tx.row(endSession)
          return made
        })
        const totals = new Map(rows.map((row) => [row.id, row.total]))
        return entries.map((entry) => totals.get(entry.id)!)
      },
    })
    return { batcher, statements: () => statements }
  }

  const stored = async () =>
    (await database.sql<{ id: number }>('select id from entries order by id')).map((row) => row.id)

  test('hundreds of calls share few statements, and bad rows among them fail alone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(299), { maxLength: 8 }), async (bad) => {
        await database.sql('truncate entries')
        const { batcher, statements } = batcherOn()
        const results = await Promise.allSettled(
          Array.from({ length: 300 }, (_, id) => batcher.submit({ id, amount: bad.includes(id) ? 0 : id + 1 })),
        )
        results.forEach((result, id) => {
          if (bad.includes(id)) expect(result).toMatchObject({ status: 'rejected', reason: { code: '23514' } })
          else expect(result).toEqual({ status: 'fulfilled', value: (id + 1) * 2 })
        })
        expect(await stored()).toEqual(results.map((_, id) => id).filter((id) => !bad.includes(id)))
        const batches = Math.ceil(300 / 100)
        if (bad.length === 0) expect(statements()).toBe(batches)
        else expect(statements()).toBeLessThanOrEqual(batches + 300)
      }),
      { numRuns: 8 },
    )
  })

  test('a connection lost during a statement rejects its items, writes none and is not retried', async () => {
    await database.sql('truncate entries')
    const { batcher, statements } = batcherOn()
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, id) => batcher.submit({ id, amount: 1, cut: id === 5 })),
    )
    for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: { code: '57P01' } })
    expect(statements()).toBe(1)
    expect(await stored()).toEqual([])
    expect(await batcher.submit({ id: 1, amount: 4 })).toBe(8)
  })

  test('a call inside a transaction fails, because it would wait for a statement on another connection', async () => {
    const { batcher, statements } = batcherOn()
    await db.tx(async () => {
      expect(() => batcher.submit({ id: 77, amount: 1 })).toThrow(
        'the shared statement test.batch_insert inside a database transaction',
      )
    })
    await batcher.drained()
    expect(statements()).toBe(0)
  })
})
