/**
 * A hash chain over the audit entries of each org. An entry's signature proves only that entry. The chain reveals
 * entries that were removed, inserted or reordered. Entries are linked after they are written, so that writers do not
 * wait for each other.
 */
import type { AuditNeeds } from './judge-entry.ts'
import { type LinkNeeds, makeLinkEntries } from './link-entries.ts'
import { makeRegisterChains } from './register.ts'
import { makeUnverifiedChains } from './unverified-chains.ts'
import { makeVerifyChain } from './verify-chain.ts'

export const makeChain = (needs: AuditNeeds & Partial<LinkNeeds>) => {
  const { unverified = makeUnverifiedChains(needs), witness } = needs
  return {
    link: makeLinkEntries({ ...needs, unverified }),
    /** Adds the chains that are not in the register yet. Returns how many. */
    register: makeRegisterChains(needs),
    /** Looks for chains whose ends do not verify, logs those that are new, and renews ends of a former secret. */
    survey: unverified.survey,
    verify: makeVerifyChain(needs),
    /** Writes the heads that the witness does not have yet. */
    close: async () => witness?.close(),
  }
}

export type Chain = ReturnType<typeof makeChain>
