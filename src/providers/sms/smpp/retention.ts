/** Deletes the ids of messages whose receipts no longer come. */
import type { Db } from '../../../db/pool.ts'
import type { Clock } from '../../../ground/clock.ts'
import { sweepReceipts } from './store.ts'

/** Longer than any message centre tries to deliver a message. */
const keptMs = 14 * 86_400_000
const sweptAtOnce = 500

export const makeSweepReceipts =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  async (): Promise<number> => {
    const before = new Date(clock.millis() - keptMs)
    for (let total = 0; ; ) {
      const swept = await db.change(sweepReceipts, { before, limit: sweptAtOnce })
      total += swept
      if (swept < sweptAtOnce) return total
    }
  }
