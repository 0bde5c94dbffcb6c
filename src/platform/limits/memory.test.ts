import { expect, test } from 'vitest'
import type { Bucket, BucketState, TakeResult } from './limiter.ts'
import { makeMemoryLimiter } from './memory.ts'

const minute = 60_000
const start = 1_800_000_000_000
const bucket = (name: string, limit = 100): Bucket => ({ name, limit, windowMs: minute })

test('results are returned synchronously, not as promises', () => {
  const limiter = makeMemoryLimiter()
  expect(limiter.take([bucket('a')], start)).toMatchObject({ allowed: true })
  expect(limiter.peek(bucket('a'), start)).toMatchObject({ remaining: 99 })
})

test('a limit of ten million per minute needs at most one entry per millisecond', () => {
  const limiter = makeMemoryLimiter()
  const org = bucket('org', 10_000_000)
  for (let ms = 0; ms < 3 * minute; ms++) {
    for (let i = 0; i < 3; i++) limiter.take([org], start + ms, 50)
  }
  expect(limiter.peek(org, start + 3 * minute - 1)).toMatchObject({ remaining: 10_000_000 - 150 * minute })
  // 60,000 entries of 16 bytes, rounded up to the next power of two.
  expect(limiter.held()).toEqual({ buckets: 1, bytes: 65_536 * 16 })
})

test('a bucket frees the memory of a burst while it stays in use', () => {
  const limiter = makeMemoryLimiter()
  const org = bucket('org', 1_000_000)
  for (let ms = 0; ms < minute; ms++) limiter.take([org], start + ms)
  for (let second = 60; second < 240; second++) limiter.take([org], start + second * 1_000)
  expect(limiter.held().bytes).toBeLessThan(16_384)
  expect(limiter.peek(org, start + 239_000)).toMatchObject({ remaining: 1_000_000 - 60 })
})

test('idle buckets are dropped when other buckets are used', () => {
  const limiter = makeMemoryLimiter()
  for (let i = 0; i < 1_000; i++) limiter.take([bucket(`idle ${i}`)], start)
  expect(limiter.held().buckets).toBe(1_000)
  for (let i = 0; i < 1_000; i++) limiter.take([bucket('busy')], start + 2 * minute + i)
  expect(limiter.held().buckets).toBe(1)
})

test('refused calls and reads do not create a bucket', () => {
  const limiter = makeMemoryLimiter()
  limiter.peek(bucket('read'), start)
  limiter.take([bucket('open'), bucket('closed', 0)], start)
  expect(limiter.held().buckets).toBe(0)
})

test('a flood of names stays within the maximum and evicts no full bucket', () => {
  const limiter = makeMemoryLimiter({ maxBuckets: 500 })
  const full = Array.from({ length: 50 }, (_, i) => bucket(`full ${i}`, 10))
  for (const one of full) limiter.take([one], start, 10)
  for (let i = 0; i < 20_000; i++) limiter.take([bucket(`address ${i}`)], start + Math.floor(i / 10))
  expect(limiter.held().buckets).toBe(500)
  for (const one of full) expect(limiter.peek(one, start + 2_000)).toMatchObject({ remaining: 0 })
})

test('the emptiest bucket is evicted first, by share of its limit and not by number of calls', () => {
  const limiter = makeMemoryLimiter({ maxBuckets: 3 })
  limiter.take([bucket('nine of ten', 10)], start, 9)
  limiter.take([bucket('twenty of thousands', 6_000)], start, 20)
  limiter.take([bucket('half', 100)], start, 50)
  limiter.take([bucket('new')], start)
  const remaining = (name: string, limit: number) => (limiter.peek(bucket(name, limit), start) as BucketState).remaining
  expect(remaining('nine of ten', 10)).toBe(1)
  expect(remaining('twenty of thousands', 6_000)).toBe(6_000)
  expect(remaining('half', 100)).toBe(50)
  expect(remaining('new', 100)).toBe(99)
})

test('a bucket whose calls have all left is evicted before one that still has calls', () => {
  const limiter = makeMemoryLimiter({ maxBuckets: 2 })
  limiter.take([bucket('left', 10)], start, 10)
  limiter.take([bucket('live', 100)], start + 1)
  limiter.take([bucket('new')], start + minute)
  expect(limiter.peek(bucket('live', 100), start + minute)).toMatchObject({ remaining: 99 })
  expect(limiter.held().buckets).toBe(2)
})

test('the oldest of equally full buckets is evicted', () => {
  const limiter = makeMemoryLimiter({ maxBuckets: 4 })
  for (const [i, name] of ['b', 'c', 'a', 'd'].entries()) limiter.take([bucket(name)], start + [2, 3, 1, 4][i]!)
  limiter.take([bucket('e')], start + 5)
  const known = ['a', 'b', 'c', 'd', 'e'].filter(
    (name) => (limiter.peek(bucket(name), start + 5) as BucketState).remaining === 99,
  )
  expect(known).toEqual(['b', 'c', 'd', 'e'])
})

test('a call never evicts a bucket that it is counted in', () => {
  const limiter = makeMemoryLimiter({ maxBuckets: 1 })
  limiter.take([bucket('org')], start)
  expect(limiter.take([bucket('key'), bucket('org')], start)).toMatchObject({
    states: [{ remaining: 99 }, { remaining: 98 }],
  })
  expect(limiter.peek(bucket('key'), start)).toMatchObject({ remaining: 99 })
  expect(limiter.peek(bucket('org'), start)).toMatchObject({ remaining: 98 })
})

test('after the clock is set back by an hour, a full bucket is free after one to two windows', () => {
  const limiter = makeMemoryLimiter()
  const org = bucket('org', 5)
  const hour = 60 * minute
  for (let i = 0; i < 5; i++) limiter.take([org], start + hour)
  const allowedAt: number[] = []
  for (let at = start; at < start + 3 * minute; at += 500) {
    if ((limiter.take([org], at) as TakeResult).allowed) allowedAt.push(at)
  }
  expect(allowedAt[0]).toBeGreaterThanOrEqual(start + minute)
  expect(allowedAt[0]).toBeLessThanOrEqual(start + 2 * minute)
  expect(allowedAt).toHaveLength(5)
})

test('a closed limiter has no buckets', async () => {
  const limiter = makeMemoryLimiter()
  limiter.take([bucket('a')], start)
  await limiter.close()
  expect(limiter.held()).toEqual({ buckets: 0, bytes: 0 })
})
