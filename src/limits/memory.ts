import { assertCost, type Bucket, type BucketState, type Limiter } from './limiter.ts'

/** Two numbers for each millisecond in which something was counted: which one, and how many. */
const pair = 2
/** Four pairs: V8 keeps typed arrays of up to 64 bytes inside its own heap, which makes small buckets cheap. */
const smallestRing = 4 * pair
/** How many buckets are compared when one has to go. */
const sample = 8

/** The calls in one bucket's window: a ring of pairs, oldest at `head`. */
type Window = {
  readonly name: string
  /** Where it stands in the list that sweeping and eviction walk. */
  place: number
  limit: number
  windowMs: number
  total: number
  newest: number
  /** The first of the calls that came behind `newest` since the last that did not; -1 when there is none. */
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
 * A clock that was set back would otherwise leave a full bucket full until it has caught up. Once every call
 * of a whole window came behind, what is counted moves to the caller's time: nothing is forgotten early, and
 * the bucket is free two windows after the step at the latest.
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

/** Lets go of the calls that have left. */
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

export type MemoryLimiter = Limiter & {
  /** Buckets and the bytes of their rings, added up on the spot: for metrics, not for every request. */
  held(): { buckets: number; bytes: number }
}

/**
 * Sliding windows in this process, answered at once. A bucket needs 16 bytes for each millisecond in which it
 * counted something, so never more than `windowMs` pairs, whatever its limit.
 *
 * At `maxBuckets` a new name takes the place of the emptiest of a few others, by share of its limit, and of the
 * oldest among equals. The calls counted in that one are forgotten: a flood of names gives some callers a small
 * part of their limit back, never a full bucket while there is an emptier one beside it.
 */
export const makeMemoryLimiter = ({ maxBuckets = 100_000 } = {}): MemoryLimiter => {
  const byName = new Map<string, Window>()
  const all: Window[] = []
  /** The windows of the call under way; kept between calls so that none has to be made. */
  const taking: (Window | undefined)[] = []
  let hand = 0

  const drop = (window: Window): void => {
    byName.delete(window.name)
    const last = all.pop()!
    if (last !== window) {
      all[window.place] = last
      last.place = window.place
    }
  }

  /**
   * One step of an endless walk, on every call instead of on a timer: idle buckets go, and one that had a burst
   * gives its room back. Two windows, so that a call late by less than one still finds what it would have found.
   */
  const sweep = (at: number): void => {
    if (hand >= all.length) hand = 0
    const window = all[hand]
    if (window === undefined) return
    if (window.newest + 2 * window.windowMs <= at) {
      drop(window)
      return
    }
    const length = window.ring.length
    if (length > smallestRing && window.pairs * pair * 8 <= length) resize(window, Math.max(smallestRing, length / 4))
    hand += 1
  }

  const evict = (at: number): void => {
    let victim: Window | undefined
    let least = Number.POSITIVE_INFINITY
    // Spread over the whole list: buckets opened one after the other are often alike, and full together.
    const stride = Math.max(1, Math.floor(all.length / sample))
    for (let looked = 0; looked < sample; looked++) {
      const window = all[(hand + looked * stride) % all.length]!
      // About to be counted in: dropping it here would lose that count.
      if (taking.includes(window)) continue
      settle(window, window.windowMs, at)
      const share = window.total / Math.max(1, window.limit)
      if (share < least || (share === least && window.newest < victim!.newest)) {
        victim = window
        least = share
      }
    }
    hand += 1
    if (victim !== undefined) drop(victim)
  }

  const open = ({ name, limit, windowMs }: Bucket, at: number): Window => {
    if (all.length >= maxBuckets) evict(at)
    const window: Window = {
      name,
      place: all.length,
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
