import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { silentLog } from '../ground/log.ts'
import type { Bucket, BucketState, Limiter, TakeResult } from './limiter.ts'
import { makeMemoryLimiter } from './memory.ts'
import { makeRedisLimiter } from './redis.ts'

const redisUrl = process.env.REDIS_URL
const openRedis = () => makeRedisLimiter({ url: redisUrl!, log: silentLog(), timeoutMs: 10_000 })

const stores: { store: string; open: () => Promise<Limiter> }[] = [
  { store: 'memory', open: async () => makeMemoryLimiter() },
  ...(redisUrl === undefined ? [] : [{ store: 'redis', open: openRedis }]),
]

const minute = 60_000
const year = 365 * 24 * 60 * minute
/** 2027-01-15T08:00:00.000Z: the start of a minute. */
const start = 1_800_000_000_000

/** A simple model of what the stores must do: it keeps one number for each counted call. */
const makeReference = () => {
  const calls = new Map<string, number[]>()
  const settle = ({ name, windowMs }: Bucket, at: number): { kept: number[]; now: number } => {
    const counted = calls.get(name) ?? []
    const now = Math.max(at, ...counted)
    const kept = counted.filter((t) => t + windowMs > now)
    calls.set(name, kept)
    return { kept, now: Math.max(at, ...kept) }
  }
  const state = ({ name, limit, windowMs }: Bucket, at: number): BucketState => {
    const counted = calls.get(name) ?? []
    const oldest = counted.length === 0 ? at : Math.min(...counted)
    return { limit, remaining: Math.max(0, limit - counted.length), resetAt: oldest + windowMs }
  }
  return {
    take(buckets: readonly Bucket[], at: number, cost: number): TakeResult {
      const settled = buckets.map((bucket) => settle(bucket, at))
      const refusedBy = buckets.findIndex(({ limit }, i) => settled[i]!.kept.length + cost > limit)
      if (refusedBy < 0) {
        for (const { kept, now } of settled) kept.push(...new Array(cost).fill(now))
      }
      const states = buckets.map((bucket) => state(bucket, at))
      return refusedBy < 0 ? { allowed: true, states } : { allowed: false, refusedBy, states }
    },
    peek(bucket: Bucket, at: number): BucketState {
      settle(bucket, at)
      return state(bucket, at)
    },
  }
}

type Step = {
  forward: number
  late: number
  cost: number
  peek: boolean
  buckets: { index: number; limit: number }[]
}
const windows = [40, 100, 1_000]
const mostly = <T>(usual: T, rare: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: rare })

/** The clock moves forward, and a call arrives that is late by at most the smallest window. */
const stepOf = (forward: fc.Arbitrary<number>, limit: fc.Arbitrary<number>): fc.Arbitrary<Step> =>
  fc.record({
    forward,
    late: mostly(0, fc.nat(Math.min(...windows))),
    cost: mostly(1, fc.integer({ min: 1, max: 9 })),
    peek: mostly(false, fc.boolean()),
    buckets: fc.uniqueArray(fc.record({ index: fc.nat(windows.length - 1), limit }), {
      minLength: 1,
      maxLength: windows.length,
      selector: ({ index }) => index,
    }),
  })

/** Small limits, with calls at the edges of the windows or years apart. */
const edges = fc.array(
  stepOf(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(0, 0, 1, 2, 3) },
      { weight: 4, arbitrary: fc.constantFrom(39, 40, 41, 99, 100, 101, 999, 1_000, 1_001) },
      { weight: 2, arbitrary: fc.nat(300) },
      { weight: 1, arbitrary: fc.constantFrom(year, 40 * year) },
    ),
    fc.constantFrom(0, 1, 2, 3, 5, 8, 20),
  ),
  { minLength: 1, maxLength: 60, size: 'max' },
)

/** Steady traffic that keeps every bucket in use, so that the stores grow, wrap around and shrink. */
const steady = fc.array(stepOf(fc.nat(6), fc.constantFrom(20, 500)), {
  minLength: 150,
  maxLength: 250,
  size: 'max',
})

describe.each(stores)('$store', ({ open }) => {
  let limiter: Limiter
  beforeAll(async () => {
    limiter = await open()
  })
  afterAll(() => limiter.close())

  /** Makes buckets whose names no other test or run uses. */
  const uniqueBuckets = () => {
    const owner = `{${randomUUID()}}`
    return (kind: string, limit: number, windowMs = minute): Bucket => ({
      name: `${owner}:${kind}`,
      limit,
      windowMs,
    })
  }
  const allows = async (buckets: Bucket[], at: number, cost?: number): Promise<boolean> => {
    const taken = await limiter.take(buckets, at, cost)
    expect(taken).not.toBeNull()
    return taken!.allowed
  }

  test('X-318 the rate is counted in a sliding 60-second window, not in fixed minutes', async () => {
    const bucket = uniqueBuckets()('org', 3)
    const lateInTheMinute = start + 59_000
    for (let i = 0; i < 3; i++) expect(await allows([bucket], lateInTheMinute + i)).toBe(true)
    expect(await allows([bucket], start + minute)).toBe(false)
    expect(await allows([bucket], start + minute + 58_999)).toBe(false)
    expect(await allows([bucket], lateInTheMinute + minute)).toBe(true)
    expect(await allows([bucket], lateInTheMinute + minute)).toBe(false)
    expect(await allows([bucket], lateInTheMinute + minute + 1)).toBe(true)
  })

  test('a call leaves exactly one window after it was counted', async () => {
    const bucket = uniqueBuckets()('org', 1)
    expect(await allows([bucket], start)).toBe(true)
    expect(await allows([bucket], start + minute - 1)).toBe(false)
    expect(await allows([bucket], start + minute)).toBe(true)
  })

  test('the result contains the remaining calls and when the oldest call leaves', async () => {
    const bucket = uniqueBuckets()('org', 3)
    const state = (remaining: number, resetAt: number) => ({ limit: 3, remaining, resetAt })
    expect(await limiter.take([bucket], start)).toEqual({
      allowed: true,
      states: [state(2, start + minute)],
    })
    expect(await limiter.take([bucket], start + 10)).toMatchObject({ states: [state(1, start + minute)] })
    expect(await limiter.take([bucket], start + 20)).toMatchObject({ states: [state(0, start + minute)] })
    expect(await limiter.take([bucket], start + 30)).toEqual({
      allowed: false,
      refusedBy: 0,
      states: [state(0, start + minute)],
    })
    expect(await limiter.peek(bucket, start + minute)).toEqual(state(1, start + 10 + minute))
  })

  test('an empty bucket has all its calls remaining and resets after a whole window', async () => {
    const bucket = uniqueBuckets()('org', 7)
    const free = { limit: 7, remaining: 7, resetAt: start + minute }
    expect(await limiter.peek(bucket, start)).toEqual(free)
    await limiter.take([bucket], start - minute)
    expect(await limiter.peek(bucket, start)).toEqual(free)
  })

  test('reading a bucket does not count a call', async () => {
    const bucket = uniqueBuckets()('org', 1)
    for (let i = 0; i < 5; i++) expect(await limiter.peek(bucket, start)).toMatchObject({ remaining: 1 })
    expect(await allows([bucket], start)).toBe(true)
    for (let i = 0; i < 5; i++) expect(await limiter.peek(bucket, start)).toMatchObject({ remaining: 0 })
  })

  test('a refused call is not counted in any bucket, before or after the full one', async () => {
    const bucket = uniqueBuckets()
    const [before, full, after] = [bucket('key', 5), bucket('org', 1), bucket('region', 5)]
    await limiter.take([full], start)
    for (let i = 0; i < 3; i++) {
      expect(await limiter.take([before, full, after], start + i)).toEqual({
        allowed: false,
        refusedBy: 1,
        states: [
          { limit: 5, remaining: 5, resetAt: start + i + minute },
          { limit: 1, remaining: 0, resetAt: start + minute },
          { limit: 5, remaining: 5, resetAt: start + i + minute },
        ],
      })
    }
    expect(await limiter.take([before, full, after], start + minute)).toMatchObject({
      allowed: true,
      states: [{ remaining: 4 }, { remaining: 0 }, { remaining: 4 }],
    })
  })

  test('a refused call does not extend the wait', async () => {
    const bucket = uniqueBuckets()('org', 1)
    await limiter.take([bucket], start)
    for (let at = start; at < start + minute; at += 999) expect(await allows([bucket], at)).toBe(false)
    expect(await allows([bucket], start + minute)).toBe(true)
  })

  test('when several buckets are full, the first of them refuses the call', async () => {
    const bucket = uniqueBuckets()
    const [key, org] = [bucket('key', 1), bucket('org', 1)]
    await limiter.take([key, org], start)
    expect(await limiter.take([key, org], start)).toMatchObject({ allowed: false, refusedBy: 0 })
    expect(await limiter.take([org, key], start)).toMatchObject({ allowed: false, refusedBy: 0 })
    expect(await limiter.take([{ ...key, limit: 2 }, org], start)).toMatchObject({ refusedBy: 1 })
  })

  test('a call without buckets is allowed', async () => {
    expect(await limiter.take([], start)).toEqual({ allowed: true, states: [] })
  })

  test('a limit can change between two calls, and the remaining calls are never negative', async () => {
    const bucket = uniqueBuckets()
    for (let i = 0; i < 4; i++) expect(await allows([bucket('org', 5)], start + i)).toBe(true)
    expect(await limiter.take([bucket('org', 2)], start + 4)).toMatchObject({
      allowed: false,
      states: [{ limit: 2, remaining: 0, resetAt: start + minute }],
    })
    expect(await limiter.peek(bucket('org', 2), start + 4)).toMatchObject({ remaining: 0 })
    expect(await limiter.take([bucket('org', 6)], start + 4)).toMatchObject({
      allowed: true,
      states: [{ limit: 6, remaining: 1 }],
    })
    expect(await allows([bucket('org', 0)], start + minute * 2)).toBe(false)
  })

  test('a cost counts several calls, either all or none of them', async () => {
    const bucket = uniqueBuckets()('org', 10)
    expect(await limiter.take([bucket], start, 7)).toMatchObject({ states: [{ remaining: 3 }] })
    expect(await limiter.take([bucket], start, 4)).toMatchObject({
      allowed: false,
      states: [{ remaining: 3 }],
    })
    expect(await limiter.take([bucket], start + 1, 3)).toMatchObject({ states: [{ remaining: 0 }] })
    expect(await limiter.peek(bucket, start + minute)).toMatchObject({ remaining: 7 })
  })

  test('a cost above the limit is refused even by an empty bucket', async () => {
    const bucket = uniqueBuckets()('org', 10)
    expect(await limiter.take([bucket], start, 11)).toMatchObject({
      allowed: false,
      states: [{ remaining: 10, resetAt: start + minute }],
    })
    expect(await allows([bucket], start, 10)).toBe(true)
  })

  test.each([0, -1, 1.5, Number.NaN])('a cost of %d throws a RangeError', async (cost) => {
    await expect(async () => limiter.take([uniqueBuckets()('org', 10)], start, cost)).rejects.toThrow(RangeError)
  })

  test('a jump of years empties the bucket, which then works as before', async () => {
    const bucket = uniqueBuckets()('org', 2)
    for (const at of [start, start + year, start + 300 * year]) {
      expect(await allows([bucket], at, 2)).toBe(true)
      expect(await allows([bucket], at + minute - 1)).toBe(false)
    }
  })

  test('a call from before a jump is still counted, and no other count is lost', async () => {
    const bucket = uniqueBuckets()('org', 4)
    await limiter.take([bucket], start + year)
    await limiter.take([bucket], start)
    expect(await limiter.take([bucket], start + year + 1)).toMatchObject({ states: [{ remaining: 1 }] })
    expect(await limiter.peek(bucket, start + year + minute)).toMatchObject({ remaining: 3 })
  })

  test('a call that arrives late is counted at the newest time of its bucket', async () => {
    const bucket = uniqueBuckets()('org', 3)
    await limiter.take([bucket], start + 5)
    await limiter.take([bucket], start)
    expect(await limiter.take([bucket], start + 3)).toMatchObject({
      states: [{ remaining: 0, resetAt: start + 5 + minute }],
    })
    expect(await allows([bucket], start + 4 + minute)).toBe(false)
    expect(await allows([bucket], start + 5 + minute, 3)).toBe(true)
  })

  test('a fractional time is counted in its millisecond', async () => {
    const bucket = uniqueBuckets()('org', 1)
    expect(await allows([bucket], start + 0.75)).toBe(true)
    expect(await allows([bucket], start + minute - 0.25)).toBe(false)
    expect(await allows([bucket], start + minute)).toBe(true)
  })

  test('a limit of 50 allows exactly 50 of 200 concurrent calls', async () => {
    const bucket = uniqueBuckets()
    const buckets = [bucket('key', 1_000), bucket('org', 50)]
    const results = await Promise.all(Array.from({ length: 200 }, (_, i) => limiter.take(buckets, start + (i % 7))))
    expect(results.filter((taken) => taken!.allowed)).toHaveLength(50)
    expect(await limiter.peek(buckets[0]!, start + 7)).toMatchObject({ remaining: 950 })
    expect(await limiter.peek(buckets[1]!, start + 7)).toMatchObject({ remaining: 0 })
  })

  test('thousands of entries leave one by one, or all at once after a pause', async () => {
    const [steady, paused] = [uniqueBuckets()('org', 5_000), uniqueBuckets()('org', 5_000)]
    await Promise.all(Array.from({ length: 5_000 }, (_, i) => limiter.take([steady], start + i)))
    await Promise.all(Array.from({ length: 5_000 }, (_, i) => limiter.take([paused], start + i)))
    for (const gone of [0, 1, 2, 3, 4, 5, 100, 1_023, 1_024, 1_025, 4_998, 4_999]) {
      expect(await limiter.peek(steady, start + minute - 1 + gone)).toEqual({
        limit: 5_000,
        remaining: gone,
        resetAt: start + gone + minute,
      })
    }
    expect(await limiter.peek(steady, start + minute + 4_999)).toMatchObject({ remaining: 5_000 })
    expect(await limiter.take([paused], start + minute + 4_321)).toMatchObject({
      states: [{ remaining: 4_321, resetAt: start + 4_322 + minute }],
    })
  })

  test.each([
    { history: 'at the edges of the windows', steps: edges, numRuns: 300 },
    { history: 'under steady traffic', steps: steady, numRuns: 40 },
  ])(
    'any history of calls $history has the same results as the reference',
    async ({ steps, numRuns }) => {
      const follow = async (history: Step[]) => {
        const bucket = uniqueBuckets()
        const reference = makeReference()
        let clock = start
        for (const { forward, late, cost, peek, buckets } of history) {
          clock += forward
          const at = clock - late
          const taken = buckets.map(({ index, limit }) => bucket(String(index), limit, windows[index]))
          if (peek) expect(await limiter.peek(taken[0]!, at)).toEqual(reference.peek(taken[0]!, at))
          else expect(await limiter.take(taken, at, cost)).toEqual(reference.take(taken, at, cost))
        }
      }
      await fc.assert(fc.asyncProperty(steps, follow), { numRuns })
    },
    60_000,
  )
})
