import { assertCost, type Bucket, type BucketState, type Limiter } from './limiter.ts'

/** Two numbers for each millisecond in which calls were counted: the millisecond and the number of calls. */
const pair = 2
/** Four pairs. V8 stores typed arrays of up to 64 bytes in its own heap, which makes small buckets cheap. */
const smallestRing = 4 * pair
/** How many buckets are compared to choose one for eviction. */
const evictionSample = 8

/** The calls in one bucket's window: a ring of pairs, oldest at `head`. */
type Window = {
  readonly name: string
  /** Its position in the list that sweeping and eviction walk. */
  index: number
  limit: number
  windowMs: number
  total: number
  newest: number
  /** The time of the first of the latest calls that are all older than `newest`; -1 when the last call was not. */
  behindSince: number
  ring: Float64Array
  head: number
  pairs: number
}

const resize = (window: Window, length: number): void => {
  const { ring, head } = window
  const next = new Float64Array(length)
  const used = window.pairs * pair
  const untilEnd = Math.min(used, ring.length - head)
  next.set(ring.subarray(head, head + untilEnd))
  next.set(ring.subarray(0, used - untilEnd), untilEnd)
  window.ring = next
  window.head = 0
}

const empty = (window: Window): void => {
  window.total = 0
  window.head = 0
  window.pairs = 0
  window.newest = Number.NEGATIVE_INFINITY
  window.behindSince = -1
}

/**
 * Without this, a clock that is set back leaves a full bucket full until the clock has caught up. Once all calls for a
 * whole window are older than `newest`, the counted calls move to the caller's time. None of them leaves early, and the
 * bucket is free at most two windows after the clock was set back.
 */
const followClockBack = (window: Window, at: number): void => {
  const { total } = window
  empty(window)
  window.total = total
  window.newest = at
  window.ring[0] = at
  window.ring[1] = total
  window.pairs = 1
}

/** Removes the calls that have left the window. */
const settle = (window: Window, windowMs: number, at: number): void => {
  if (at >= window.newest + windowMs) {
    if (window.total > 0) empty(window)
    return
  }
  if (at >= window.newest) {
    window.behindSince = -1
  } else if (window.behindSince < 0 || at < window.behindSince) {
    window.behindSince = at
  } else if (at - window.behindSince >= windowMs) {
    followClockBack(window, at)
  }
  const now = Math.max(at, window.newest)
  const { ring } = window
  const mask = ring.length - 1
  while (ring[window.head]! + windowMs <= now) {
    window.total -= ring[window.head + 1]!
    window.head = (window.head + pair) & mask
    window.pairs -= 1
  }
}

const count = (window: Window, at: number, cost: number): void => {
  const used = window.pairs * pair
  if (at <= window.newest) {
    window.ring[((window.head + used - pair) & (window.ring.length - 1)) + 1]! += cost
  } else {
    if (used === window.ring.length) resize(window, used * 2)
    const end = (window.head + used) & (window.ring.length - 1)
    window.ring[end] = at
    window.ring[end + 1] = cost
    window.pairs += 1
    window.newest = at
  }
  window.total += cost
}

const stateOf = (window: Window | undefined, { limit, windowMs }: Bucket, at: number): BucketState =>
  window === undefined || window.total === 0
    ? { limit, remaining: Math.max(0, limit), resetAt: at + windowMs }
    : {
        limit,
        remaining: Math.max(0, limit - window.total),
        resetAt: window.ring[window.head]! + windowMs,
      }

type MemoryLimiter = Limiter & {
  /** The number of buckets and the bytes of their rings. Too slow for every request: it visits all buckets. */
  held(): { buckets: number; bytes: number }
}

/**
 * Sliding windows in the memory of this process. Results are returned synchronously. A bucket needs 16 bytes for each
 * millisecond in which it counted a call, so at most `windowMs` pairs, whatever its limit.
 *
 * At `maxBuckets`, a new name evicts one of a small sample of buckets: the emptiest by share of its limit, and the
 * oldest among equals. The calls counted in the evicted bucket are forgotten. A flood of names therefore gives some
 * callers a small part of their limit back, but never evicts a full bucket while the sample contains an emptier one.
 */
export const makeMemoryLimiter = ({ maxBuckets = 100_000 } = {}): MemoryLimiter => {
  const byName = new Map<string, Window>()
  const all: Window[] = []
  /** The windows of the current call. The array is reused, so that a call allocates none. */
  const taking: (Window | undefined)[] = []
  let sweepIndex = 0

  const drop = (window: Window): void => {
    byName.delete(window.name)
    const last = all.pop()!
    if (last !== window) {
      all[window.index] = last
      last.index = window.index
    }
  }

  /**
   * Checks one bucket. Every call does so, instead of a timer. An idle bucket is dropped, and the ring of a bucket
   * shrinks after a burst. A bucket is idle after two windows, so that a call that is late by less than one window
   * still finds its bucket.
   */
  const sweep = (at: number): void => {
    if (sweepIndex >= all.length) sweepIndex = 0
    const window = all[sweepIndex]
    if (window === undefined) return
    if (window.newest + 2 * window.windowMs <= at) {
      drop(window)
      return
    }
    const length = window.ring.length
    if (length > smallestRing && window.pairs * pair * 8 <= length) resize(window, Math.max(smallestRing, length / 4))
    sweepIndex += 1
  }

  const evict = (at: number): void => {
    let evicted: Window | undefined
    let least = Number.POSITIVE_INFINITY
    // The sample is spread over the whole list: buckets that were opened together are often full together.
    const stride = Math.max(1, Math.floor(all.length / evictionSample))
    for (let i = 0; i < evictionSample; i++) {
      const window = all[(sweepIndex + i * stride) % all.length]!
      // The current call is about to count in this bucket. Dropping it would lose that count.
      if (taking.includes(window)) continue
      settle(window, window.windowMs, at)
      const share = window.total / Math.max(1, window.limit)
      if (share < least || (share === least && window.newest < evicted!.newest)) {
        evicted = window
        least = share
      }
    }
    sweepIndex += 1
    if (evicted !== undefined) drop(evicted)
  }

  const open = ({ name, limit, windowMs }: Bucket, at: number): Window => {
    if (all.length >= maxBuckets) evict(at)
    const window: Window = {
      name,
      index: all.length,
      limit,
      windowMs,
      total: 0,
      newest: Number.NEGATIVE_INFINITY,
      behindSince: -1,
      ring: new Float64Array(smallestRing),
      head: 0,
      pairs: 0,
    }
    all.push(window)
    byName.set(name, window)
    return window
  }

  return {
    take(buckets, atMs, cost = 1) {
      assertCost(cost)
      const at = Math.floor(atMs)
      let refusedBy = -1
      taking.length = buckets.length
      for (let i = 0; i < buckets.length; i++) {
        const { name, limit, windowMs } = buckets[i]!
        const window = byName.get(name)
        taking[i] = window
        let total = 0
        if (window !== undefined) {
          settle(window, windowMs, at)
          window.limit = limit
          window.windowMs = windowMs
          total = window.total
        }
        if (refusedBy < 0 && total + cost > limit) refusedBy = i
      }

      const states: BucketState[] = new Array(buckets.length)
      for (let i = 0; i < buckets.length; i++) {
        const bucket = buckets[i]!
        let window = taking[i]
        if (refusedBy < 0) {
          window ??= open(bucket, at)
          count(window, at, cost)
        }
        states[i] = stateOf(window, bucket, at)
      }
      sweep(at)
      sweep(at)
      return refusedBy < 0 ? { allowed: true, states } : { allowed: false, refusedBy, states }
    },

    peek(bucket, atMs) {
      const at = Math.floor(atMs)
      const window = byName.get(bucket.name)
      if (window !== undefined) settle(window, bucket.windowMs, at)
      return stateOf(window, bucket, at)
    },

    held: () => ({
      buckets: all.length,
      bytes: all.reduce((bytes, { ring }) => bytes + ring.byteLength, 0),
    }),

    async close() {
      byName.clear()
      all.length = 0
      taking.length = 0
    },
  }
}
