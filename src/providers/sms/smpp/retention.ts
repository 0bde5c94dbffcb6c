/** Deletes the ids of messages whose receipts no longer come. */
import { inChunks } from '../../../platform/db/in-chunks.ts'
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { sweepReceipts } from './store.ts'

/** Longer than any message centre tries to deliver a message. */
const keptMs = 14 * 86_400_000
const sweptAtOnce = 500

export const makeSweepReceipts =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  async (): Promise<number> => {
    const before = new Date(clock.millis() - keptMs)
    return inChunks(sweptAtOnce, () => db.change(sweepReceipts, { before, limit: sweptAtOnce }))
  }
