import type { RollUp } from '../analytics/roll-up.ts'
import type { Log } from '../ground/log.ts'
import { type ClaimLoop, makeClaimLoop } from './claim-loop.ts'

/** Adds what happened to messages to their figures every second, so that reads find little that is not added yet. */
export const makeRollUpLoop = ({ rollUp, log }: { rollUp: RollUp; log: Log }): ClaimLoop =>
  makeClaimLoop<never>({
    name: 'analytics',
    idleMs: 1_000,
    log,
    // `run` does all the work, so there are no rows to work on.
    claim: async () => {
      await rollUp.run()
      return []
    },
    work: async () => undefined,
  })
