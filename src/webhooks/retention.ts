import { inChunks } from '../platform/db/in-chunks.ts'
import type { Db } from '../platform/db/pool.ts'
import { type Removed, removeMonths } from '../platform/db/remove-months.ts'
import type { Clock } from '../platform/ground/clock.ts'
import type { Log } from '../platform/ground/log.ts'
import { dayMs } from '../platform/ground/units.ts'
import { deliveryRules, pruneDeliveries } from './store/delivery-rows.ts'
import { sweepPreviousSecrets } from './store/endpoint-rows.ts'

const chunk = 5_000

export const makeKeepDeliveries = ({ db, clock, log }: { db: Db; clock: Clock; log: Log }) => ({
  /** Removes delivered rows after 30 days, failed and canceled ones after 90. */
  prune: async (): Promise<Removed> => {
    const now = clock.millis()
    const ages = { deliveredBefore: new Date(now - 30 * dayMs), before: new Date(now - 90 * dayMs) }
    const { rows, months } = await removeMonths({ db, log }, deliveryRules(ages), ages.deliveredBefore)
    const single = await inChunks(chunk, () => db.change(pruneDeliveries, { ...ages, limit: chunk }))
    return { rows: rows + single, months }
  },
  /** Drops former signing secrets whose overlap is over. Returns how many were dropped. */
  sweepSecrets: () => {
    const params = { at: clock.now(), limit: chunk }
    return inChunks(chunk, () => db.change(sweepPreviousSecrets, params))
  },
})
