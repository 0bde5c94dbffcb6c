import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Bucket, Limiter } from '../../platform/limits/limiter.ts'
import { refusedUntil } from '../../platform/limits/per-address.ts'

export const tooManyExports = (waitMs: number): Failure =>
  new Failure('RATE_LIMITED', { retryAfter: waitMs / 1_000, flatMessage: 'Too many exports. Try again later.' })

/** Throws RATE_LIMITED if no more fit. While the store of the limiter is unreachable, everything fits. */
export const takeOne = async (
  { limiter, clock }: { limiter: Limiter | undefined; clock: Clock },
  bucket: Bucket,
): Promise<void> => {
  const until = refusedUntil(await limiter?.take([bucket], clock.millis()))
  if (until !== undefined) throw tooManyExports(until - clock.millis())
}
