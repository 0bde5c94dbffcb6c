import type { Chain } from '../audit/chain.ts'
import type { Log } from '../ground/log.ts'
import { type ClaimLoop, makeClaimLoop } from './claim-loop.ts'

/** Links new audit entries into their chains, at most a second after they are written. */
export const makeLinkLoop = ({ chain, log }: { chain: Chain; log: Log }): ClaimLoop =>
  makeClaimLoop<never>({
    name: 'audit chain',
    idleMs: 1_000,
    log,
    // `chain.link` does all the work, so there are no rows to work on.
    claim: async () => {
      await chain.link()
      return []
    },
    work: async () => undefined,
  })
