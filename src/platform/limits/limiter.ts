/**
 * A sliding window: at most `limit` counted calls in any `windowMs`. The name contains its owner, for example
 * `{org_…}:key:key_…`. The buckets of one call have different names and the same text in braces, so that a Redis
 * cluster keeps them on one node. The window of a name never changes; its limit may change from call to call.
 */
export type Bucket = { name: string; limit: number; windowMs: number }

export type BucketState = {
  limit: number
  remaining: number
  /** When the oldest counted call leaves, in milliseconds since the epoch. An empty bucket: one window from now. */
  resetAt: number
}

export type TakeResult =
  | { allowed: true; states: BucketState[] }
  /** `refusedBy` is the index of the first bucket that is full. */
  | { allowed: false; refusedBy: number; states: BucketState[] }

/**
 * A call counted at t leaves the window at t + windowMs. The time of a bucket never goes back: a call that arrives
 * late, or from a process whose clock is slow, is checked and counted at the newest time in the bucket. It then leaves
 * later by the same delay, and no other counted call is lost.
 */
export interface Limiter {
  /**
   * Counts one call (or `cost` calls) in every bucket, or in none when any of them is full. A cost above the limit is
   * always refused. Returns null when the store does not respond; the caller then allows the call.
   */
  take(buckets: readonly Bucket[], atMs: number, cost?: number): TakeResult | null | Promise<TakeResult | null>
  /** Reads a bucket without counting a call. */
  peek(bucket: Bucket, atMs: number): BucketState | null | Promise<BucketState | null>
  close(): Promise<void>
}

/** A cost of zero, or a fraction, would bypass every limit. It is a bug in the calling code, never a client error. */
export const assertCost = (cost: number): void => {
  if (!(Number.isSafeInteger(cost) && cost > 0)) throw new RangeError('cost must be an integer of at least 1')
}
