import { expect, test } from 'vitest'
import { readTransactions, sampleOf } from './servers/pgbench.ts'

test('the log of pgbench gives the end and the length of every transaction', () => {
  expect(readTransactions('0 1 1500 0 1700000000 250000\n3 2 800 0 1700000001 0\n')).toEqual([
    { endMs: 1_700_000_000_250, tookMs: 1.5 },
    { endMs: 1_700_000_001_000, tookMs: 0.8 },
  ])
})

test('a transaction that failed is an error, not a figure', () => {
  expect(() => readTransactions('0 1 failed 0 1700000000 250000\n')).toThrow(/failed/)
})

test('transactions of the warm time and of the time after are not counted', () => {
  const each = Array.from({ length: 40 }, (_, i) => ({ endMs: 5100 + i * 100, tookMs: i < 10 ? 100 : 20 }))
  expect(sampleOf(each, 1000, 2000)).toEqual({ perSecond: 10, p50Ms: 20, p99Ms: 100 })
})

test('a window in which nothing ended is skipped with a reason', () => {
  const each = [
    { endMs: 100, tookMs: 100 },
    { endMs: 9000, tookMs: 8900 },
  ]
  expect(sampleOf(each, 1000, 800)).toEqual({ skipped: 'no transaction ended within the 800 ms measured' })
})

test('a run that ended within the window is skipped: what is missing of it would count as slowness', () => {
  const each = Array.from({ length: 20 }, (_, i) => ({ endMs: 100 + i * 100, tookMs: 100 }))
  expect(sampleOf(each, 1000, 1000)).toMatchObject({ perSecond: 10 })
  expect(sampleOf(each, 1000, 1001)).toHaveProperty('skipped')
  expect(sampleOf([], 1000, 1000)).toHaveProperty('skipped')
})
