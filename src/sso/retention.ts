import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { sweepUsedIds } from './store/sign-in-rows.ts'

const part = 5_000

/** Deletes the ids of requests and assertions that have expired. Returns how many. */
export const makeSweepSso =
  ({ db, clock }: { db: Db; clock: Clock }): (() => Promise<number>) =>
  async () => {
    let swept = 0
    for (;;) {
      const deleted = await db.change(sweepUsedIds, { before: clock.now(), limit: part })
      swept += deleted
      if (deleted < part) return swept
    }
  }
