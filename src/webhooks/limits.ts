import type { Clock } from '../platform/ground/clock.ts'
import { Failure } from '../platform/ground/errors.ts'
import { minuteMs } from '../platform/ground/units.ts'
import type { Limiter } from '../platform/limits/limiter.ts'
import { refusedUntil } from '../platform/limits/per-address.ts'

/** Rate limits per endpoint in a sliding window of one minute. Calls are allowed while the limiter does not respond. */
export const makeWebhookLimits = ({ limiter, clock }: { limiter: Limiter | undefined; clock: Clock }) => {
  const spend = async (
    name: string,
    limit: number,
    code: 'REPLAY_RATE_LIMITED' | 'TEST_FIRE_RATE_LIMITED',
  ): Promise<void> => {
    const at = clock.millis()
    const until = refusedUntil(await limiter?.take([{ name, limit, windowMs: minuteMs }], at))
    if (until !== undefined) throw new Failure(code, { retryAfter: (until - at) / 1000 })
  }
  return {
    /** Ten replays per minute. Single and bulk replays share them. */
    replay: (orgId: string, id: string) => spend(`{${orgId}}:webhook_replay:${id}`, 10, 'REPLAY_RATE_LIMITED'),
    /** Twenty test fires per minute. */
    testFire: (orgId: string, id: string) => spend(`{${orgId}}:webhook_test_fire:${id}`, 20, 'TEST_FIRE_RATE_LIMITED'),
  }
}

export type WebhookLimits = ReturnType<typeof makeWebhookLimits>
