/** Sliding windows that the primary counts for all its processes, so that limits are exact without Redis. */
import { assertCost, type Bucket, type BucketState, type Limiter, type TakeResult } from '../limits/limiter.ts'
import { makeMemoryLimiter } from '../limits/memory.ts'
import type { ProcessWire } from './process-wire.ts'

/** A cost of 0 only reads. */
type LimitCall = { buckets: readonly Bucket[]; at: number; cost: number }

const kind = 'limits'

/** Counts the calls of all processes, in the order in which they arrive. */
export const countForProcesses = (): ((wire: ProcessWire) => void) => {
  const limiter = makeMemoryLimiter()
  const count = ({ buckets, at, cost }: LimitCall) =>
    cost === 0 ? limiter.peek(buckets[0] as Bucket, at) : limiter.take(buckets, at, cost)
  return (wire) => wire.on(kind, (calls: LimitCall[]) => calls.map(count))
}

type Waiting = { call: LimitCall; resolve: (result: unknown) => void }

/**
 * The limiter of a child process. The calls of one turn of the event loop share a message. There is no deadline: the
 * primary is on the same machine, and a child process ends with it.
 */
export const makeSharedLimiter = (wire: Pick<ProcessWire, 'ask'>): Limiter => {
  let waiting: Waiting[] = []

  const flush = async (): Promise<void> => {
    const sent = waiting
    waiting = []
    const results = await wire.ask<unknown[]>(
      kind,
      sent.map(({ call }) => call),
    )
    for (const [i, { resolve }] of sent.entries()) resolve(results?.[i] ?? null)
  }

  const ask = <T>(call: LimitCall): Promise<T | null> =>
    new Promise((resolve) => {
      if (waiting.length === 0) setImmediate(() => void flush())
      waiting.push({ call, resolve: resolve as (result: unknown) => void })
    })

  return {
    take(buckets, at, cost = 1) {
      assertCost(cost)
      if (buckets.length === 0) return { allowed: true, states: [] }
      return ask<TakeResult>({ buckets, at, cost })
    },
    peek: (bucket, at) => ask<BucketState>({ buckets: [bucket], at, cost: 0 }),
    close: async () => undefined,
  }
}
