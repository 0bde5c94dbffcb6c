/** The limits of sign-in. Those against guessing hold even while the store of the rate limiter is unreachable. */
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { sha256Hex } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { hourMs, minuteMs } from '../../platform/ground/units.ts'
import type { Bucket, BucketState, Limiter } from '../../platform/limits/limiter.ts'
import { bucketsPerAddress } from '../../platform/limits/per-address.ts'
import { countAttempts, dropOldAttempts, insertAttempt, lockBucket } from './store/attempt-rows.ts'

export const tooManyAttempts = 'Too many attempts. Try again later.'
export const tooManyRequests = 'Too many verification requests. Try again later.'

type Verdict = { allowed: boolean; resetAt: number }

export type Attempted = {
  /** Undefined when it is unknown which account the attempt concerns. */
  email: string | undefined
  ip: string | null
}

/** Addresses are hashed: a limiter's store is no place for them. */
const nameOf = (kind: string, value: string): string => `{signin}:${kind}:${sha256Hex(value).slice(0, 32)}`

export const bucketOf = (kind: string, value: string, limit: number, windowMs: number = hourMs): Bucket => ({
  name: nameOf(kind, value),
  limit,
  windowMs,
})

/** Buckets of a client address, or of what it does to an account. */
export const addressBuckets = (
  kind: string,
  address: string | null,
  limit: number,
  windowMs: number = hourMs,
  email?: string,
): Bucket[] =>
  bucketsPerAddress(address, { limit, windowMs }, (network) =>
    nameOf(kind, email === undefined ? network : `${email} ${network}`),
  )

const limited = (message: string, resetAt: number, now: number): Failure =>
  new Failure('RATE_LIMITED', { message, retryAfter: (resetAt - now) / 1000 })

const failureBuckets = ({ email, ip }: Attempted): Bucket[] => {
  const perAddress = addressBuckets('failures-ip', ip, 100)
  if (email === undefined) return perAddress
  return [...addressBuckets('failures', ip, 20, 15 * minuteMs, email), ...perAddress]
}

export const makeThrottle = ({ db, clock, limiter }: StoreNeeds & { limiter: Limiter | undefined }) => {
  const underWay = new Map<string, number>()
  const move = (buckets: Bucket[], by: 1 | -1): void => {
    for (const { name } of buckets) {
      const count = (underWay.get(name) ?? 0) + by
      if (count > 0) underWay.set(name, count)
      else underWay.delete(name)
    }
  }

  const peekStored = async ({ name, limit, windowMs }: Bucket): Promise<BucketState> => {
    const now = clock.millis()
    const row = await db.row(countAttempts, { bucket: name, since: new Date(now - windowMs) })
    return {
      limit,
      remaining: Math.max(0, limit - (row?.count ?? 0)),
      resetAt: (row?.oldest?.getTime() ?? now) + windowMs,
    }
  }

  const takeStored = ({ name, limit, windowMs }: Bucket): Promise<Verdict> =>
    db.tx(async (tx) => {
      await tx.row(lockBucket, { bucket: name })
      const at = clock.now()
      const since = new Date(at.getTime() - windowMs)
      await tx.change(dropOldAttempts, { bucket: name, since })
      const row = await tx.row(countAttempts, { bucket: name, since })
      const allowed = (row?.count ?? 0) < limit
      if (allowed) await tx.change(insertAttempt, { bucket: name, id: newId('request', at.getTime()), at })
      return { allowed, resetAt: (row?.oldest?.getTime() ?? at.getTime()) + windowMs }
    })

  const peek = async (bucket: Bucket): Promise<BucketState> =>
    (await limiter?.peek(bucket, clock.millis())) ?? peekStored(bucket)

  const take = async (buckets: Bucket[]): Promise<Verdict | undefined> => {
    const result = await limiter?.take(buckets, clock.millis())
    if (!result) return undefined
    const refusing = result.allowed ? undefined : result.states[result.refusedBy]
    return { allowed: result.allowed, resetAt: refusing?.resetAt ?? clock.millis() }
  }

  const takeStrictly = async (bucket: Bucket): Promise<Verdict> => (await take([bucket])) ?? takeStored(bucket)

  return {
    /**
     * Counts the work as an attempt that is under way, and for good once it calls `failed`. Throws RATE_LIMITED when too
     * many attempts have failed, counting those under way.
     */
    attempt: async <T>(attempted: Attempted, work: (failed: () => Promise<void>) => Promise<T>): Promise<T> => {
      const buckets = failureBuckets(attempted)
      // Counted before the first wait, so that attempts that arrive together see each other.
      move(buckets, 1)
      const held = new Set(buckets)
      const release = (bucket: Bucket): void => {
        if (held.delete(bucket)) move([bucket], -1)
      }
      try {
        for (const bucket of buckets) {
          const { remaining, resetAt } = await peek(bucket)
          if (remaining < (underWay.get(bucket.name) ?? 0)) throw limited(tooManyAttempts, resetAt, clock.millis())
        }
        return await work(async () => {
          for (const bucket of buckets) {
            await takeStrictly(bucket)
            // It is counted for good now. Counting it twice would refuse others early.
            release(bucket)
          }
        })
      } finally {
        held.forEach(release)
      }
    },
    /** Whether one more fits. Without a reachable store it does. */
    allows: async (...buckets: Bucket[]) => (await take(buckets))?.allowed ?? true,
    /** The same, counted in the database without a reachable store. */
    allowsStrictly: async (...buckets: Bucket[]) => {
      const verdict = await take(buckets)
      if (verdict) return verdict.allowed
      for (const bucket of buckets) if (!(await takeStored(bucket)).allowed) return false
      return true
    },
    /** Throws RATE_LIMITED with this message instead. */
    require: async (message: string, ...buckets: Bucket[]) => {
      const verdict = await take(buckets)
      if (verdict && !verdict.allowed) throw limited(message, verdict.resetAt, clock.millis())
    },
  }
}

export type Throttle = ReturnType<typeof makeThrottle>
