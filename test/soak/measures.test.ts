import { describe, expect, test } from 'vitest'
import { judgeSoak } from './measures.ts'
import { makePlan } from './plan.ts'
import { readMetrics, type SoakPoint } from './sampler.ts'

const plan = makePlan(1_800)
const mb = 1_048_576

/** A run in which nothing grows, except what `change` sets. `share` goes from 0 to 1. */
const run = (change: (share: number) => Partial<SoakPoint>): SoakPoint[] =>
  Array.from({ length: 30 }, (_, i) => ({
    at: (i + 1) * plan.pointSeconds,
    rssBytes: 400 * mb,
    heapBytes: 150 * mb,
    handles: 60,
    queues: { 'messages due': 1 },
    probe: { p50: 2, p99: 10, count: 300 },
    latencies: { single: { p50: 20, p99: 100, count: 300 } },
    errorsPerThousand: 0,
    // The rows of a table grow as long as messages are sent.
    tables: [{ table: 'messages', heapBytes: (i + 1) * mb, indexBytes: (i + 1) * mb, live: (i + 1) * 1_000, dead: 10 }],
    ...change(i / 29),
  }))

const growing = (points: SoakPoint[]): string[] =>
  judgeSoak(points, plan)
    .filter(({ verdict }) => verdict.grows)
    .map(({ measure }) => measure)

describe('a soak', () => {
  test('passes if nothing but the number of rows grows', () => {
    expect(growing(run(() => ({})))).toEqual([])
  })

  test.each<[string, (share: number) => Partial<SoakPoint>]>([
    ['resident memory', (share) => ({ rssBytes: (400 + 300 * share) * mb })],
    ['heap after collections', (share) => ({ heapBytes: (150 + 100 * share) * mb })],
    ['open file handles', (share) => ({ handles: 60 + 100 * share })],
    ['errors in 1,000 requests', (share) => ({ errorsPerThousand: 20 * share })],
    ['age of queue messages due', (share) => ({ queues: { 'messages due': 1_000 * share } })],
    ['p50 of single', (share) => ({ latencies: { single: { p50: 20 + 60 * share, p99: 100, count: 300 } } })],
    ['p99 of single', (share) => ({ latencies: { single: { p50: 20, p99: 100 + 400 * share, count: 300 } } })],
  ])('fails if %s grows', (measure, change) => {
    expect(growing(run(change))).toEqual([measure])
  })

  test('fails if a table or its indexes grow without rows', () => {
    const queue = (share: number) => ({
      table: 'events',
      heapBytes: 40 * share * mb,
      indexBytes: 40 * share * mb,
      live: 5,
      dead: 0,
    })
    expect(growing(run((share) => ({ tables: [queue(share)] })))).toEqual([
      'unexplained bytes of events (table)',
      'unexplained bytes of events (indexes)',
    ])
  })

  test('passes if the whole machine becomes slower', () => {
    const slower = (share: number): Partial<SoakPoint> => ({
      probe: { p50: 2 + 8 * share, p99: 10 + 40 * share, count: 300 },
      latencies: { single: { p50: 20 + 80 * share, p99: 100 + 400 * share, count: 300 } },
    })
    expect(growing(run(slower))).toEqual([])
  })

  test('judges memory within one process only', () => {
    const restarted = run((share) => ({ rssBytes: (share < 0.15 || share > 0.85 ? 200 : 400) * mb }))
    expect(growing(restarted)).toEqual([])
  })

  test('does not judge latencies of a few calls', () => {
    const rare = run((share) => ({ latencies: { single: { p50: 20 + 600 * share, p99: 900 * share, count: 9 } } }))
    expect(growing(rare)).toEqual([])
  })
})

test('the heap and the ages of queues are read from the metrics', () => {
  const text = [
    '# HELP nodejs_heap_size_used_bytes Process heap size used from Node.js in bytes.',
    'nodejs_heap_size_used_bytes 177086880',
    'queue_oldest_seconds{queue="messages",state="due"} 0',
    'queue_oldest_seconds{queue="deliveries",state="lease_expired"} 1.5',
  ].join('\n')
  expect(readMetrics(text)).toEqual({
    heap: 177_086_880,
    queues: { 'messages due': 0, 'deliveries lease_expired': 1.5 },
  })
})
