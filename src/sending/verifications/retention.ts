import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { hour } from './ceilings.ts'
import { sweepVerifications, sweepWindows } from './store.ts'

export const keptMs = 48 * hour
const chunk = 1_000

export interface VerificationRetention {
  /** Deletes verifications two days after they were started. Returns how many were deleted. */
  sweep(): Promise<number>
  /** Deletes the windows of ceilings that had no start for an hour. */
  sweepWindows(): Promise<number>
}

export const makeVerificationRetention = ({ db, clock }: { db: Db; clock: Clock }): VerificationRetention => ({
  sweep: () => {
    const before = new Date(clock.millis() - keptMs)
    return inChunks(chunk, () => db.change(sweepVerifications, { before, limit: chunk }))
  },
  sweepWindows: () => {
    const before = new Date(clock.millis() - hour)
    return inChunks(chunk, () => db.change(sweepWindows, { before, limit: chunk }))
  },
})
