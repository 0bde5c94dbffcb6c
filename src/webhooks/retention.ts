import { makeMonthsAhead } from '../db/months.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { pruneDeliveries } from './store.ts'

const day = 86_400_000
const chunk = 10_000

export interface KeepDeliveries {
  /** Makes room for the months ahead. */
  prepare(): Promise<void>
  /** Removes what is past its time: 30 days after it arrived, 90 days when it did not. */
  prune(): Promise<number>
}

export const makeKeepDeliveries = ({ db, clock }: { db: Db; clock: Clock }): KeepDeliveries => ({
  prepare: makeMonthsAhead({ db, clock }, ['webhook_deliveries']),
  prune: async () => {
    const now = clock.millis()
    const past = { arrivedBefore: new Date(now - 30 * day), before: new Date(now - 90 * day), limit: chunk }
    for (let total = 0; ; ) {
      const pruned = await db.change(pruneDeliveries, past)
      total += pruned
      if (pruned < chunk) return total
    }
  },
})
