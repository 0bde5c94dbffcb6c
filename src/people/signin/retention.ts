import { sweepSessions } from '../accounts/store/session-rows.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { sweepAttempts } from './store/attempt-rows.ts'
import { sweepChallenges } from './store/challenge-rows.ts'
import { sweepCodes, sweepResets } from './store/code-rows.ts'
import { sweepGuesses, sweepUnlocks } from './store/guess-rows.ts'

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
    for (const sweep of [sweepSessions, sweepCodes, sweepChallenges, sweepResets, sweepUnlocks]) {
      for (let changed = chunk; changed === chunk; swept += changed) {
        changed = await db.change(sweep, { before, limit: chunk })
      }
    }
    // No limit counts further back than an hour.
    const yesterday = new Date(clock.millis() - dayMs)
    await db.change(sweepAttempts, { before: yesterday })
    for (let changed = chunk; changed === chunk; ) {
      changed = await db.change(sweepGuesses, { before: yesterday, limit: chunk })
    }
    return swept
  }
