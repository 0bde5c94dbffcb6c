import { type Sweep, sweepSessions } from '../../customers/accounts/store/session-rows.ts'
import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Db, StoreNeeds } from '../../platform/db/pool.ts'
import type { Statement } from '../../platform/db/statement.ts'
import { dayMs } from '../../platform/ground/units.ts'
import { sweepAttempts } from './store/attempt-rows.ts'
import { sweepChallenges } from './store/challenge-rows.ts'
import { sweepCodes, sweepResets } from './store/code-rows.ts'
import { sweepGuesses, sweepUnlocks } from './store/guess-rows.ts'

const keptDays = 30
const chunk = 5_000

/** Deletes a part at a time what is older than `before`. Returns how many rows. */
export const sweepAll = (db: Db, sweep: Statement<Sweep, never>, before: Date): Promise<number> =>
  inChunks(chunk, () => db.change(sweep, { before, limit: chunk }))

/** Deletes sessions, codes, challenges and reset links that expired 30 days ago. Returns how many. */
export const makeSweepSignIn =
  ({ db, clock }: StoreNeeds) =>
  async (): Promise<number> => {
    const before = new Date(clock.millis() - keptDays * dayMs)
    let swept = 0
    for (const sweep of [sweepSessions, sweepCodes, sweepChallenges, sweepResets, sweepUnlocks]) {
      swept += await sweepAll(db, sweep, before)
    }
    // No limit counts further back than an hour.
    const yesterday = new Date(clock.millis() - dayMs)
    await db.change(sweepAttempts, { before: yesterday })
    await sweepAll(db, sweepGuesses, yesterday)
    return swept
  }
