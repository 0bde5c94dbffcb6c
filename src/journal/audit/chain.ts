/**
 * A hash chain over the audit entries of each org. An entry's signature proves only that entry. The chain reveals
 * entries that were removed, inserted or reordered. Entries are linked after they are written, so that writers do not
 * wait for each other.
 */
import { type LinkNeeds, makeLinkEntries } from './link-entries.ts'
import { makeRegisterChains } from './register.ts'
import { makeUnverifiedChains } from './unverified-chains.ts'
import { type ChainReport, makeVerifyChain, type VerifyOptions } from './verify-chain.ts'

export interface Chain {
  link(): Promise<number>
  /** Adds the chains that are not in the register yet. Returns how many. */
  register(): Promise<number>
  /** Looks for chains whose ends do not verify, logs those that are new, and renews ends of a former secret. */
  survey(): Promise<void>
  verify(orgId: string, options?: VerifyOptions): Promise<ChainReport>
  /** Writes the heads that the witness does not have yet. */
  close(): Promise<void>
}

export const makeChain = (needs: LinkNeeds): Chain => {
  const { unverified = makeUnverifiedChains(needs), witness } = needs
  return {
    link: makeLinkEntries({ ...needs, unverified }),
    register: makeRegisterChains(needs),
    survey: unverified.survey,
    verify: makeVerifyChain(needs),
    close: async () => witness?.close(),
  }
}
