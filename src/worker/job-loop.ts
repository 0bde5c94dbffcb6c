import type { FollowJobs } from '../blasts/follow-jobs.ts'
import type { Log } from '../ground/log.ts'
import { type ClaimLoop, makeClaimLoop } from './claim-loop.ts'

/** Ends jobs at most a second after their last message, and chooses subjects when they are due. */
export const makeJobLoop = ({ jobs, log }: { jobs: FollowJobs; log: Log }): ClaimLoop =>
  makeClaimLoop<never>({
    name: 'jobs',
    idleMs: 1_000,
    log,
    // `pass` does all the work, so there are no rows to work on.
    claim: async () => {
      await jobs.pass()
      return []
    },
    work: async () => undefined,
  })
