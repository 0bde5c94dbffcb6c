import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { secondMs } from '../../platform/ground/units.ts'
import type { Draft } from './draft.ts'

const pastToleranceMs = 5 * 60 * secondMs
const maxAheadMs = 366 * 24 * 3_600 * secondMs

/**
 * Validates the time of a message. A time up to five minutes ago or one second ahead sends it immediately. Returns
 * whether the message stays scheduled.
 */
export const staysScheduled = (draft: Pick<Draft, 'scheduledAt'>, clock: Clock): boolean => {
  if (!draft.scheduledAt) return false
  const ahead = draft.scheduledAt.getTime() - clock.millis()
  if (ahead < -pastToleranceMs) throw new Failure('SCHEDULED_AT_IN_PAST')
  if (ahead > maxAheadMs) throw new Failure('SCHEDULED_AT_TOO_FAR')
  if (ahead > secondMs) return true
  draft.scheduledAt = null
  return false
}
