/** What goes with time: content past its days, notes of notifications, and the partitions of months to come. */
import { makeMonthsAhead } from '../db/months.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { redactContent, redactedAtOnce, sweepNotifications } from './store.ts'

const day = 86_400_000
const swept = 500
/** Longer than any provider repeats itself. */
const notificationDays = 14

export interface MessageRetention {
  /** Redacts content older than its days; nothing without a limit. Returns how many messages. */
  redact(): Promise<number>
  sweepNotifications(): Promise<number>
  /** This month's partitions and the next two. */
  ensurePartitions(): Promise<void>
}

const inChunks = async (size: number, step: () => Promise<number>): Promise<number> => {
  for (let total = 0; ; ) {
    const done = await step()
    total += done
    if (done < size) return total
  }
}

type Needs = { db: Db; clock: Clock; contentDays: number | undefined }

export const makeMessageRetention = ({ db, clock, contentDays }: Needs): MessageRetention => ({
  redact: async () => {
    if (contentDays === undefined) return 0
    const before = new Date(clock.millis() - contentDays * day)
    return inChunks(redactedAtOnce, () => db.change(redactContent, { before, at: clock.now() }))
  },
  sweepNotifications: () => {
    const before = new Date(clock.millis() - notificationDays * day)
    return inChunks(swept, () => db.change(sweepNotifications, { before, limit: swept }))
  },
  ensurePartitions: makeMonthsAhead({ db, clock }, ['messages', 'message_events']),
})
