import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { hourMs } from '../../platform/ground/units.ts'
import { sweepVerifications, sweepWindows } from './store.ts'

export const keptMs = 48 * hourMs
const chunk = 1_000

export const makeVerificationRetention = ({ db, clock }: { db: Db; clock: Clock }) => ({
  /** Deletes verifications two days after they were started. Returns how many were deleted. */
  sweep: (): Promise<number> => {
    const before = new Date(clock.millis() - keptMs)
    return inChunks(chunk, () => db.change(sweepVerifications, { before, limit: chunk }))
  },
  /** Deletes the windows of ceilings that had no start for an hour. */
  sweepWindows: (): Promise<number> => {
    const before = new Date(clock.millis() - hourMs)
    return inChunks(chunk, () => db.change(sweepWindows, { before, limit: chunk }))
  },
})
