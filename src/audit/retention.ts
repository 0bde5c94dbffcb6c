import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { timeOfId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import { digestMatches, faultOfEnds, signEnd } from './chain-ends.ts'
import { type AuditSecrets, makeJudgeEntry } from './judge-entry.ts'
import { type ChainRow, type LinkedEntry, type LinkRow, lockChain } from './store/chain-rows.ts'
import { deleteEntries, oldestEntries, oldestLinks, setPrunedEnd } from './store/prune-rows.ts'
import { type EntryRow, permitChanges } from './store.ts'

const chunk = 1_000

/** Removes entries older than the retention period from the old end of each chain. Returns how many. */
export type PruneAudit = () => Promise<number>

type Needs = { db: Db; clock: Clock; log: Log; secrets: AuditSecrets; cutover: Date; days: number }

/** The age of an entry is the time in its id, which cannot be changed without breaking the chain. */
const isExpired = (entryId: string, before: Date): boolean => timeOfId(entryId) < before.getTime()

export const makePruneAudit = ({ db, clock, log, secrets, cutover, days }: Needs): PruneAudit => {
  const judge = makeJudgeEntry({ secrets, cutover })

  /** Why a link must be kept although it has expired: it is evidence. */
  const faultOf = (previous: { seq: number; digest: Buffer }, link: LinkedEntry): string | undefined => {
    if (link.id === null) return 'missing'
    const entry: EntryRow = link
    const follows = link.seq === previous.seq + 1 && digestMatches(previous.digest, link.seq, entry, link.digest)
    if (!follows) return 'broken'
    const verdict = judge(entry)
    return ['invalid', 'stripped', 'misdated'].includes(verdict) ? verdict : undefined
  }

  /** The links before the first one that is kept, because it has not expired or because it does not verify. */
  const removable = (orgId: string, chain: ChainRow, links: LinkedEntry[], before: Date): LinkRow[] => {
    const found: LinkRow[] = []
    let previous = { seq: chain.pruned_seq, digest: chain.pruned_digest ?? Buffer.alloc(0) }
    for (const link of links) {
      if (!isExpired(link.entry_id, before)) break
      const fault = faultOf(previous, link)
      if (fault !== undefined) {
        log.error({ org_id: orgId, entry_id: link.entry_id, fault }, 'audit retention stopped')
        break
      }
      found.push(link)
      previous = link
    }
    return found
  }

  const pruneChunk = (orgId: string, before: Date): Promise<number> =>
    db.tx(async (tx) => {
      // While entries are being linked, the chain is locked. The next run prunes it.
      const chain = await tx.row(lockChain, { orgId })
      if (!chain) return 0
      const fault = faultOfEnds(secrets, orgId, chain)
      if (fault !== undefined) {
        log.error({ org_id: orgId, fault }, 'audit retention stopped')
        return 0
      }
      const links = removable(orgId, chain, await tx.rows(oldestLinks, { orgId, limit: chunk }), before)
      const last = links.at(-1)
      if (!last) return 0
      await tx.row(permitChanges, { path: 'retention' })
      await tx.change(deleteEntries, { orgId, entryIds: links.map((link) => link.entry_id) })
      const { seq, digest } = last
      const signature = signEnd(secrets[0], { end: 'pruned', orgId, seq, digest })
      await tx.change(setPrunedEnd, { orgId, seq, digest, signature, at: clock.now() })
      return links.length
    })

  const pruneOrg = async (orgId: string, before: Date): Promise<number> => {
    for (let total = 0; ; ) {
      const pruned = await pruneChunk(orgId, before)
      total += pruned
      if (pruned < chunk) return total
    }
  }

  return async () => {
    const before = new Date(clock.millis() - days * 86_400_000)
    let total = 0
    for (let after = ''; ; ) {
      const chains = await db.rows(oldestEntries, { afterOrgId: after, limit: chunk })
      for (const { org_id, entry_id } of chains) {
        if (entry_id !== null && isExpired(entry_id, before)) total += await pruneOrg(org_id, before)
        after = org_id
      }
      if (chains.length < chunk) return total
    }
  }
}
