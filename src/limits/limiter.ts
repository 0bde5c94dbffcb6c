/**
 * A sliding window: at most `limit` counted calls in any `windowMs`. The name carries its owner, e.g.
 * `{org_…}:key:key_…`: buckets taken in one call are distinct and share what stands in the braces, which puts
 * them on one node of a Redis cluster. A name keeps its window; its limit may change from call to call.
 */
export type Bucket = { name: string; limit: number; windowMs: number }

export type BucketState = {
  limit: number
  remaining: number
  /** Milliseconds since the epoch: when the oldest counted call leaves. A full window from now when none is in it. */
  resetAt: number
}

export type TakeResult =
  | { allowed: true; states: BucketState[] }
  /** `refusedBy` is the index of the first bucket that refused. */
  | { allowed: false; refusedBy: number; states: BucketState[] }

/**
 * A call counted at t is in the window until t + windowMs, where it no longer counts. A bucket's time never
 * runs back: a call that arrives late, or from a process whose clock lags, is judged and counted at the newest
 * time counted in that bucket, so that it leaves late by its lag and no other call is lost for it.
 */
export interface Limiter {
  /**
   * Counts one call (or `cost` of them) in every bucket, or in none when any of them refuses; the first in
   * order refuses. A cost above the limit is always refused. null: no store answered, and the caller lets the
   * call pass.
   */
  take(buckets: readonly Bucket[], atMs: number, cost?: number): TakeResult | null | Promise<TakeResult | null>
  /** Reads without counting. */
  peek(bucket: Bucket, atMs: number): BucketState | null | Promise<BucketState | null>
  close(): Promise<void>
}

/** Zero or a fraction would pass every limit unnoticed: a fault of the caller, never of a client. */
export const assertCost = (cost: number): void => {
  if (!(Number.isSafeInteger(cost) && cost > 0)) throw new RangeError('cost is a whole number from 1')
}
