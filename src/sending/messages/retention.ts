/** Removes old messages, redacts old content, and deletes old provider notifications. */
import { inChunks } from '../../platform/db/in-chunks.ts'
import { monthAt } from '../../platform/db/months.ts'
import type { Db } from '../../platform/db/pool.ts'
import { removeMonths } from '../../platform/db/remove-months.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { dayMs } from '../../platform/ground/units.ts'
import { sweepOutbox } from '../../providers/outbox/store.ts'
import { redactContent, redactedAtOnce } from './store/end-messages.ts'
import { sweepNotifications } from './store/message-outcomes.ts'
import { messageEventRules, messageRules } from './store/remove-messages.ts'

const sweptAtOnce = 500
/** Longer than any provider repeats a notification. */
const notificationDays = 14

type Needs = {
  db: Db
  clock: Clock
  log: Log
  contentDays: number | undefined
  retentionDays: number | undefined
}

export const makeMessageRetention = ({ db, clock, log, contentDays, retentionDays }: Needs) => {
  const daysAgo = (days: number): Date => new Date(clock.millis() - days * dayMs)

  return {
    /**
     * Removes the messages of whole months that are older than `retentionDays`, if set, and their events. Messages that
     * are not sent yet stay.
     */
    remove: async (): Promise<{ messages: number; events: number; months: number }> => {
      if (retentionDays === undefined) return { messages: 0, events: 0, months: 0 }
      const since = daysAgo(retentionDays)
      const before = monthAt(since).from
      const messages = await removeMonths({ db, log }, messageRules(since), before)
      const events = await removeMonths({ db, log }, messageEventRules, before)
      // Its entries name their messages only, and are found by them when a tenant is erased or an org is deleted.
      await db.change(sweepOutbox, { before: since })
      return { messages: messages.rows, events: events.rows, months: messages.months + events.months }
    },
    /** Redacts content older than `contentDays`, if set. Returns the number of messages. */
    redact: async (): Promise<number> => {
      if (contentDays === undefined) return 0
      const before = daysAgo(contentDays)
      return inChunks(redactedAtOnce, () => db.change(redactContent, { before, at: clock.now() }))
    },
    sweepNotifications: (): Promise<number> => {
      const before = daysAgo(notificationDays)
      return inChunks(sweptAtOnce, () => db.change(sweepNotifications, { before, limit: sweptAtOnce }))
    },
  }
}
