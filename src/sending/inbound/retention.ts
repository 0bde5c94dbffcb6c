import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { dayMs } from '../../platform/ground/units.ts'
import { inboundRedactedAtOnce, redactInbound } from './store/inbound-rows.ts'

/** Redacts content of inbound messages older than `contentDays`, if set. Returns the number of messages. */
export const makeRedactInbound =
  ({ db, clock, contentDays }: { db: Db; clock: Clock; contentDays: number | undefined }) =>
  async (): Promise<number> => {
    if (contentDays === undefined) return 0
    const before = new Date(clock.millis() - contentDays * dayMs)
    return inChunks(inboundRedactedAtOnce, () => db.change(redactInbound, { before, at: clock.now() }))
  }
