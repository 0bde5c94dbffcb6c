import type { Db } from '../platform/db/pool.ts'
import type { Clock } from '../platform/ground/clock.ts'
import { maxAttempts } from './fire.ts'
import { fanOutEvents } from './store/fan-out-events.ts'

const perStatement = 500

export type FannedOut = { events: number; deliveries: number }

/** Turns events into deliveries until the outbox is empty. Several workers can do this at the same time. */
export type FanOut = () => Promise<FannedOut>

export const makeFanOut =
  ({ db, clock }: { db: Db; clock: Clock }): FanOut =>
  async () => {
    const total: FannedOut = { events: 0, deliveries: 0 }
    for (;;) {
      const counts = await db.row(fanOutEvents, { at: clock.now(), limit: perStatement, maxAttempts })
      total.events += counts?.events ?? 0
      total.deliveries += counts?.deliveries ?? 0
      if ((counts?.events ?? 0) < perStatement) return total
    }
  }
