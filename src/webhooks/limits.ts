import type { Clock } from '../platform/ground/clock.ts'
import { Failure } from '../platform/ground/errors.ts'
import type { Limiter } from '../platform/limits/limiter.ts'

const windowMs = 60_000

export interface WebhookLimits {
  /** Ten replays per minute. Single and bulk replays share them. */
  replay(orgId: string, endpointId: string): Promise<void>
  /** Twenty test fires per minute. */
  testFire(orgId: string, endpointId: string): Promise<void>
}

type Needs = { limiter: Limiter | undefined; clock: Clock }

/** Rate limits per endpoint in a sliding window of one minute. Calls are allowed while the limiter does not respond. */
export const makeWebhookLimits = ({ limiter, clock }: Needs): WebhookLimits => {
  const spend = async (
    name: string,
    limit: number,
    code: 'REPLAY_RATE_LIMITED' | 'TEST_FIRE_RATE_LIMITED',
  ): Promise<void> => {
    const at = clock.millis()
    const taken = await limiter?.take([{ name, limit, windowMs }], at)
    if (!taken || taken.allowed) return
    const resetAt = taken.states[0]?.resetAt ?? at + windowMs
    throw new Failure(code, { retryAfter: (resetAt - at) / 1000 })
  }
  return {
    replay: (orgId, id) => spend(`{${orgId}}:webhook_replay:${id}`, 10, 'REPLAY_RATE_LIMITED'),
    testFire: (orgId, id) => spend(`{${orgId}}:webhook_test_fire:${id}`, 20, 'TEST_FIRE_RATE_LIMITED'),
  }
}
