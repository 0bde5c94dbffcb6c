import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import type { Draft } from './draft.ts'

const second = 1_000
const pastToleranceMs = 5 * 60 * second
const maxAheadMs = 366 * 24 * 3_600 * second

/**
 * Validates the time of a message. A time up to five minutes ago or one second ahead sends it immediately. Returns
 * whether the message stays scheduled.
 */
export const staysScheduled = (draft: Pick<Draft, 'scheduledAt'>, clock: Clock): boolean => {
  if (!draft.scheduledAt) return false
  const ahead = draft.scheduledAt.getTime() - clock.millis()
  if (ahead < -pastToleranceMs) throw new Failure('SCHEDULED_AT_IN_PAST')
  if (ahead > maxAheadMs) throw new Failure('SCHEDULED_AT_TOO_FAR')
  if (ahead > second) return true
  draft.scheduledAt = null
  return false
}
