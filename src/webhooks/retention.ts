import type { Db } from '../db/pool.ts'
import { type Removed, removeMonths } from '../db/remove-months.ts'
import type { Clock } from '../ground/clock.ts'
import type { Log } from '../ground/log.ts'
import { deliveryRules, pruneDeliveries } from './store/delivery-rows.ts'
import { sweepPreviousSecrets } from './store/endpoint-rows.ts'

const day = 86_400_000
const chunk = 5_000

export interface KeepDeliveries {
  /** Removes delivered rows after 30 days, failed and canceled ones after 90. */
  prune(): Promise<Removed>
  /** Drops former signing secrets whose overlap is over. Returns how many were dropped. */
  sweepSecrets(): Promise<number>
}

/** Repeats a statement that changes at most one chunk until nothing is left. Returns how many rows it changed. */
const inChunks = async (changeSome: () => Promise<number>): Promise<number> => {
  for (let total = 0; ; ) {
    const changed = await changeSome()
    total += changed
    if (changed < chunk) return total
  }
}

type Needs = { db: Db; clock: Clock; log: Log }

export const makeKeepDeliveries = ({ db, clock, log }: Needs): KeepDeliveries => ({
  prune: async () => {
    const now = clock.millis()
    const ages = { deliveredBefore: new Date(now - 30 * day), before: new Date(now - 90 * day) }
    const { rows, months } = await removeMonths({ db, log }, deliveryRules(ages), ages.deliveredBefore)
    const single = await inChunks(() => db.change(pruneDeliveries, { ...ages, limit: chunk }))
    return { rows: rows + single, months }
  },
  sweepSecrets: () => {
    const params = { at: clock.now(), limit: chunk }
    return inChunks(() => db.change(sweepPreviousSecrets, params))
  },
})
