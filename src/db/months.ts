import type { Clock } from '../ground/clock.ts'
import type { Db } from './pool.ts'
import { ensureMonth } from './store.ts'

/** Creates the partitions of this month and the next two. */
export const makeEnsureMonthPartitions =
  ({ db, clock }: { db: Db; clock: Clock }, parents: readonly string[]): (() => Promise<void>) =>
  async () => {
    const now = clock.now()
    for (const ahead of [0, 1, 2]) {
      const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead))
      for (const parent of parents) await db.row(ensureMonth, { parent, month: month.toISOString().slice(0, 10) })
    }
  }
