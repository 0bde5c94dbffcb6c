import { sweepSessions } from '../accounts/store/session-rows.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { sweepAttempts } from './store/attempt-rows.ts'
import { sweepChallenges } from './store/challenge-rows.ts'
import { sweepCodes, sweepResets } from './store/code-rows.ts'

const keptDays = 30
const dayMs = 86_400_000
const chunk = 5_000

/** Deletes sessions, codes, challenges and reset links that expired 30 days ago. Returns how many. */
export type SweepSignIn = () => Promise<number>

export const makeSweepSignIn =
  ({ db, clock }: { db: Db; clock: Clock }): SweepSignIn =>
  async () => {
    const before = new Date(clock.millis() - keptDays * dayMs)
    let swept = 0
    for (const sweep of [sweepSessions, sweepCodes, sweepChallenges, sweepResets]) {
      for (let changed = chunk; changed === chunk; swept += changed) {
        changed = await db.change(sweep, { before, limit: chunk })
      }
    }
    // No limit counts further back than an hour.
    await db.change(sweepAttempts, { before: new Date(clock.millis() - dayMs) })
    return swept
  }
