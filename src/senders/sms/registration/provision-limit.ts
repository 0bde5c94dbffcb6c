import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Scope } from '../../../platform/ground/scope.ts'
import { hourMs } from '../../../platform/ground/units.ts'
import type { Limiter } from '../../../platform/limits/limiter.ts'
import { refusedUntil } from '../../../platform/limits/per-address.ts'

const perHour = 10

/** Counts one registration of the org. Throws when the hour has had its ten. Test mode is counted separately. */
export type SpendRegistration = (scope: Scope) => Promise<void>

export const makeProvisionLimit =
  ({ limiter, clock }: { limiter: Limiter | undefined; clock: Clock }): SpendRegistration =>
  async ({ orgId, environment }) => {
    const at = clock.millis()
    const bucket = { name: `{${orgId}}:provision:${environment}`, limit: perHour, windowMs: hourMs }
    const until = refusedUntil(await limiter?.take([bucket], at))
    if (until === undefined) return
    throw new Failure('PROVISION_LIMIT_EXCEEDED', {
      flatMessage: `Provisioning limit reached: ${perHour} per hour`,
      retryAfter: (until - at) / 1000,
    })
  }
