import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { pruneDeliveries } from './store/delivery-rows.ts'
import { sweepPreviousSecrets } from './store/endpoint-rows.ts'

const day = 86_400_000
const chunk = 5_000

export interface KeepDeliveries {
  /** Deletes delivered rows after 30 days, failed and canceled ones after 90. Returns how many were deleted. */
  prune(): Promise<number>
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

export const makeKeepDeliveries = ({ db, clock }: { db: Db; clock: Clock }): KeepDeliveries => ({
  prune: async () => {
    const now = clock.millis()
    const params = { deliveredBefore: new Date(now - 30 * day), before: new Date(now - 90 * day), limit: chunk }
    return inChunks(() => db.change(pruneDeliveries, params))
  },
  sweepSecrets: () => {
    const params = { at: clock.now(), limit: chunk }
    return inChunks(() => db.change(sweepPreviousSecrets, params))
  },
})
