import { makeEnsureMonthPartitions } from '../db/months.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { pruneDeliveries } from './store/delivery-rows.ts'

const day = 86_400_000
const chunk = 10_000

export interface KeepDeliveries {
  /** Creates the partitions of the coming months. */
  prepare(): Promise<void>
  /** Deletes delivered rows after 30 days, failed and canceled ones after 90. Returns how many were deleted. */
  prune(): Promise<number>
}

export const makeKeepDeliveries = ({ db, clock }: { db: Db; clock: Clock }): KeepDeliveries => ({
  prepare: makeEnsureMonthPartitions({ db, clock }, ['webhook_deliveries']),
  prune: async () => {
    const now = clock.millis()
    const params = { deliveredBefore: new Date(now - 30 * day), before: new Date(now - 90 * day), limit: chunk }
    for (let total = 0; ; ) {
      const pruned = await db.change(pruneDeliveries, params)
      total += pruned
      if (pruned < chunk) return total
    }
  },
})
