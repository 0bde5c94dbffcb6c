/**
 * Wakes the workers when events were written, so that the first attempt of a delivery does not wait for their next poll.
 *
 * NOTIFY takes a lock that every other NOTIFY of the server waits for until its commit. So it is never part of the
 * transaction that writes events, and a busy process coalesces its announcements.
 */
import type { Db } from '../../platform/db/pool.ts'
import type { Log } from '../../platform/ground/log.ts'
import { notifyWorkers } from './store.ts'

export const eventsChannel = 'events_waiting'

/** Called after a commit that wrote this number of events. */
export type AnnounceEvents = (count: number) => void

/** Like the interval at which workers poll, so a busy process wakes them as often as they would wake anyway. */
const windowMs = 100
/** With up to this number of events in a window, each announcement is made at once. */
const atOncePerWindow = 20

/** Calls `wake` for each announcement of an idle process, and once per window for those of a busy one. */
export const makeCoalescedWake = (wake: () => void) => {
  let windowFrom = Number.NEGATIVE_INFINITY
  let events = 0
  let waiting: NodeJS.Timeout | undefined

  const wakeForAll = (): void => {
    waiting = undefined
    // The next window starts busy. If it stays empty, the one after it starts idle.
    windowFrom = performance.now()
    events = atOncePerWindow
    wake()
  }

  return {
    announce: (count: number): void => {
      if (count === 0 || waiting) return
      const now = performance.now()
      if (now - windowFrom >= windowMs) {
        windowFrom = now
        events = 0
      }
      const isFirst = events === 0
      events += count
      if (isFirst || events <= atOncePerWindow) wake()
      else waiting = setTimeout(wakeForAll, windowFrom + windowMs - now).unref()
    },
    stop: (): void => clearTimeout(waiting),
  }
}

export const makeEventAnnouncer = ({ db, log }: { db: Pick<Db, 'rows'>; log: Log }) => {
  let wakeWorker: (() => void) | undefined
  let notifying: Promise<void> | undefined

  const notifyOthers = (): void => {
    // A notification that waits for a slow database is announcement enough.
    notifying ??= db
      .rows(notifyWorkers, { channel: eventsChannel })
      .then(
        () => undefined,
        // Workers poll, so the events are only later.
        (error) => log.debug({ err: error }, 'event notification failed'),
      )
      .finally(() => {
        notifying = undefined
      })
  }

  const { announce, stop } = makeCoalescedWake(() => (wakeWorker ?? notifyOthers)())
  return {
    announce,
    /** From now on, wakes the worker of this process instead of the workers of other processes. */
    wakeHere: (wake: () => void): void => {
      wakeWorker = wake
    },
    /** Resolves when no announcement is on its way. */
    close: async (): Promise<void> => {
      stop()
      await notifying
    },
  }
}
