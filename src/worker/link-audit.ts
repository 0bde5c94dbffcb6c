import type { Chain } from '../audit/chain.ts'
import type { Log } from '../ground/log.ts'
import { type ClaimLoop, makeClaimLoop } from './claim-loop.ts'

/** Links new audit entries into their chains, a second after they were written at the latest. */
export const makeLinkLoop = ({ chain, log }: { chain: Chain; log: Log }): ClaimLoop =>
  makeClaimLoop<never>({
    name: 'audit chain',
    idleMs: 1_000,
    log,
    // Linking is its own claim: there is nothing left to do for each row.
    claim: async () => {
      await chain.link()
      return []
    },
    work: async () => undefined,
  })
