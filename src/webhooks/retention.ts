import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { ensureMonth, pruneDeliveries } from './store.ts'

const day = 86_400_000
const chunk = 10_000

export interface KeepDeliveries {
  /** Makes room for this month and the next. */
  prepare(): Promise<void>
  /** Removes what is past its time: 30 days after it arrived, 90 days when it did not. */
  prune(): Promise<number>
}

export const makeKeepDeliveries = ({ db, clock }: { db: Db; clock: Clock }): KeepDeliveries => ({
  prepare: async () => {
    const now = clock.now()
    for (const ahead of [0, 1]) {
      const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead))
      await db.row(ensureMonth, month.toISOString().slice(0, 10))
    }
  },
  prune: async () => {
    const now = clock.millis()
    const before = [new Date(now - 30 * day), new Date(now - 90 * day)] as const
    for (let total = 0; ; ) {
      const pruned = await db.change(pruneDeliveries, ...before, chunk)
      total += pruned
      if (pruned < chunk) return total
    }
  },
})
