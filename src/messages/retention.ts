/** Redacts old message content and deletes old provider notifications. */
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { redactContent, redactedAtOnce } from './store/end-messages.ts'
import { sweepNotifications } from './store/message-outcomes.ts'

const day = 86_400_000
const sweptAtOnce = 500
/** Longer than any provider repeats a notification. */
const notificationDays = 14

export interface MessageRetention {
  /** Redacts content older than `contentDays`, if set. Returns the number of messages. */
  redact(): Promise<number>
  sweepNotifications(): Promise<number>
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
    return inChunks(sweptAtOnce, () => db.change(sweepNotifications, { before, limit: sweptAtOnce }))
  },
})
