/** The parts of the service whose health is recorded. */
import { readSetting } from '../../platform/settings/store.ts'
import { type Health, makeHealth } from '../../reports/health/watch-parts.ts'
import type { Foundation } from './foundation.ts'
import type { Sending } from './sending.ts'

/** A provider that a test replaces has no breakers. */
type Breakers = { states?(): { state: string }[] }

/** No provider is sent anything. One of them must be taking messages, as far as this process knows. */
const takesMessages = (provider: Breakers) => async (): Promise<boolean> => {
  const states = provider.states?.() ?? []
  return states.length === 0 || states.some(({ state }) => state !== 'open')
}

export const makeHealthOf = ({ db, clock, limiter }: Foundation, sending: Sending): Health =>
  makeHealth({
    db,
    clock,
    probes: {
      database: async () => {
        await db.row(readSetting, { name: 'readiness_probe' })
        return true
      },
      limiter: async () => {
        const bucket = { name: '{health}:probe', limit: 1, windowMs: 1_000 }
        return !limiter || (await limiter.peek(bucket, clock.millis())) !== null
      },
      email_provider: takesMessages(sending.emailProvider),
      sms_provider: takesMessages(sending.smsProvider as Breakers),
      // The worker runs this.
      worker: async () => true,
    },
  })
