import { expect, test } from 'vitest'
import { readTransactions, sampleOf } from './servers/pgbench.ts'

test('The pgbench log contains the end and the duration of every transaction', () => {
  expect(readTransactions('0 1 1500 0 1700000000 250000\n3 2 800 0 1700000001 0\n')).toEqual([
    { endMs: 1_700_000_000_250, tookMs: 1.5 },
    { endMs: 1_700_000_001_000, tookMs: 0.8 },
  ])
})

test('A failed transaction is an error', () => {
  expect(() => readTransactions('0 1 failed 0 1700000000 250000\n')).toThrow(/failed/)
})

test('Transactions during the warm-up and after the measured time are not counted', () => {
  const each = Array.from({ length: 40 }, (_, i) => ({ endMs: 5100 + i * 100, tookMs: i < 10 ? 100 : 20 }))
  expect(sampleOf(each, 1000, 2000)).toEqual({ perSecond: 10, p50Ms: 20, p99Ms: 100 })
})

test('A measured time without a finished transaction is skipped with a reason', () => {
  const each = [
    { endMs: 100, tookMs: 100 },
    { endMs: 9000, tookMs: 8900 },
  ]
  expect(sampleOf(each, 1000, 800)).toEqual({ skipped: 'no transaction ended within the measured 800 ms' })
})

test('A run that ended during the measured time is skipped, because it would appear too slow', () => {
  const each = Array.from({ length: 20 }, (_, i) => ({ endMs: 100 + i * 100, tookMs: 100 }))
  expect(sampleOf(each, 1000, 1000)).toMatchObject({ perSecond: 10 })
  expect(sampleOf(each, 1000, 1001)).toHaveProperty('skipped')
  expect(sampleOf([], 1000, 1000)).toHaveProperty('skipped')
})
