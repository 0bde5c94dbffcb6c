/**
 * Deletes the whole log of a deleted org. Its chain stays as an empty one whose two ends are the same signed link, so
 * that verification can tell it from a log that someone else deleted.
 */
import type { Tx } from '../../platform/db/pool.ts'
import { faultOfEnds, signEnd } from './chain-ends.ts'
import type { AuditNeeds } from './judge-entry.ts'
import { type ChainRow, findChain, lockChain } from './store/chain-rows.ts'
import { permitChanges } from './store/entry-rows.ts'
import { deleteSomeEntries, deleteSomeLinks, deleteUnlinked, newestEntry, setPrunedEnd } from './store/prune-rows.ts'

const chunk = 5_000

/** A process of an earlier release that wrote an entry reports it as lost if it is gone before it was seen linked. */
const quietMs = 60_000

export const makeDeleteLog = ({ db, clock, log, secrets }: AuditNeeds) => {
  /** Logged once. The task runs every minute. */
  const kept = new Set<string>()

  /** Both ends become the head before the first link goes, so that the chain verifies at any time. */
  const closeChain = async (tx: Tx, orgId: string, chain: ChainRow): Promise<void> => {
    const { head_seq: seq, head_digest: digest } = chain
    if (chain.pruned_seq === seq || seq === 0) return
    const signature = signEnd(secrets[0], { end: 'pruned', orgId, seq, digest })
    await tx.change(setPrunedEnd, { orgId, seq, digest, signature, at: clock.now() })
  }

  const deleteChunk = (orgId: string): Promise<number | undefined> =>
    db.tx(async (tx) => {
      const chain = await tx.row(lockChain, { orgId })
      // While another process links entries, the chain is locked. A later run deletes the log.
      if (!chain && ((await tx.row(findChain, { orgId }))?.head_seq ?? 0) > 0) return undefined
      const fault = chain && faultOfEnds(secrets, orgId, chain)
      if (fault !== undefined) {
        if (!kept.has(orgId)) log.error({ org_id: orgId, fault }, 'audit log of deleted org kept')
        kept.add(orgId)
        return undefined
      }
      if (chain) await closeChain(tx, orgId, chain)
      await tx.row(permitChanges, { path: 'retention' })
      await tx.change(deleteUnlinked, { orgId })
      const entries = await tx.change(deleteSomeEntries, { orgId, limit: chunk })
      // Links without entries before the pruned end are not verified. Entries without links would be stray.
      return entries > 0 ? entries : tx.change(deleteSomeLinks, { orgId, limit: chunk })
    })

  /** Returns whether the log is gone. Call it once all entries are linked. It waits while new ones are written. */
  return async (orgId: string): Promise<boolean> => {
    const newest = await db.row(newestEntry, { orgId })
    if (newest && clock.millis() - newest.created_at.getTime() < quietMs) return false
    for (;;) {
      const deleted = await deleteChunk(orgId)
      if (deleted === undefined) return false
      if (deleted === 0) return true
    }
  }
}

export type DeleteLog = ReturnType<typeof makeDeleteLog>
