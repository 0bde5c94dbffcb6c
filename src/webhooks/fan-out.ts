import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { maxAttempts } from './fire.ts'
import { fanOutEvents } from './store.ts'

const perStatement = 500

export type FannedOut = { events: number; deliveries: number }

/** Turns waiting events into deliveries until none is left. Any number of workers may do so at once. */
export type FanOut = () => Promise<FannedOut>

export const makeFanOut =
  ({ db, clock }: { db: Db; clock: Clock }): FanOut =>
  async () => {
    const total: FannedOut = { events: 0, deliveries: 0 }
    for (;;) {
      const made = await db.row(fanOutEvents, { at: clock.now(), limit: perStatement, maxAttempts })
      total.events += made?.events ?? 0
      total.deliveries += made?.deliveries ?? 0
      if ((made?.events ?? 0) < perStatement) return total
    }
  }
