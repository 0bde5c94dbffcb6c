/**
 * A hash chain over the audit entries of each org. An entry's signature proves only that entry. The chain reveals
 * entries that were removed, inserted or reordered. Entries are linked after they are written, so that writers do not
 * wait for each other.
 */
import { type LinkNeeds, makeLinkEntries } from './link-entries.ts'
import { makeRegisterChains } from './register.ts'
import { type ChainReport, makeVerifyChain, type VerifyOptions } from './verify-chain.ts'

export interface Chain {
  link(): Promise<number>
  /** Adds the chains of earlier releases to the register. Returns how many. */
  register(): Promise<number>
  verify(orgId: string, options?: VerifyOptions): Promise<ChainReport>
  /** Writes the heads that the witness does not have yet. */
  close(): Promise<void>
}

export const makeChain = (needs: LinkNeeds): Chain => ({
  link: makeLinkEntries(needs),
  register: makeRegisterChains(needs),
  verify: makeVerifyChain(needs),
  close: async () => needs.witness?.close(),
})
