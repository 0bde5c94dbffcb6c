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

export type RemovedMessages = { messages: number; events: number; months: number }

export interface MessageRetention {
  /**
   * Removes the messages of whole months that are older than `retentionDays`, if set, and their events. Messages that are
   * not sent yet stay.
   */
  remove(): Promise<RemovedMessages>
  /** Redacts content older than `contentDays`, if set. Returns the number of messages. */
  redact(): Promise<number>
  sweepNotifications(): Promise<number>
}

type Needs = {
  db: Db
  clock: Clock
  log: Log
  contentDays: number | undefined
  retentionDays: number | undefined
}

const removeOld = async ({ db, clock, log, retentionDays }: Needs): Promise<RemovedMessages> => {
  if (retentionDays === undefined) return { messages: 0, events: 0, months: 0 }
  const since = new Date(clock.millis() - retentionDays * dayMs)
  const before = monthAt(since).from
  const messages = await removeMonths({ db, log }, messageRules(since), before)
  const events = await removeMonths({ db, log }, messageEventRules, before)
  // Its entries name their messages only, and are found by them when a tenant is erased or an org is deleted.
  await db.change(sweepOutbox, { before: since })
  return { messages: messages.rows, events: events.rows, months: messages.months + events.months }
}

export const makeMessageRetention = (needs: Needs): MessageRetention => ({
  remove: () => removeOld(needs),
  redact: async () => {
    const { db, clock, contentDays } = needs
    if (contentDays === undefined) return 0
    const before = new Date(clock.millis() - contentDays * dayMs)
    return inChunks(redactedAtOnce, () => db.change(redactContent, { before, at: clock.now() }))
  },
  sweepNotifications: () => {
    const { db, clock } = needs
    const before = new Date(clock.millis() - notificationDays * dayMs)
    return inChunks(sweptAtOnce, () => db.change(sweepNotifications, { before, limit: sweptAtOnce }))
  },
})
