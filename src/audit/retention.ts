import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { signEnd } from './chain.ts'
import { deleteEntries, lockChain, oldestLinks, orgsWithOldEntries, permitChanges, setPrunedEnd } from './store.ts'

const chunk = 1_000

/** Removes entries older than the retention period from the old end of each chain. Returns how many. */
export type PruneAudit = () => Promise<number>

type Needs = { db: Db; clock: Clock; secret: string | undefined; days: number }

type OldLink = { created_at: Date | null }

/**
 * The links before the first one that must be kept. A link whose entry is missing has no age: it is removed only if
 * a later link that still has its entry is removed too. A missing entry is therefore reported for as long as the
 * entry itself would have been kept.
 */
const expiredLinks = <L extends OldLink>(links: L[], before: Date): L[] => {
  const firstKept = links.findIndex((link) => link.created_at !== null && link.created_at >= before)
  const candidates = firstKept < 0 ? links : links.slice(0, firstKept)
  return candidates.slice(0, candidates.findLastIndex((link) => link.created_at !== null) + 1)
}

export const makePruneAudit = ({ db, clock, secret, days }: Needs): PruneAudit => {
  const pruneChunk = (orgId: string, before: Date): Promise<number> =>
    db.tx(async (tx) => {
      // While entries are being linked, the chain is locked. The next night's run prunes it.
      if (!(await tx.row(lockChain, { orgId }))) return 0
      const links = expiredLinks(await tx.rows(oldestLinks, { orgId, limit: chunk }), before)
      const last = links.at(-1)
      if (!last) return 0
      await tx.row(permitChanges, { path: 'retention' })
      await tx.change(deleteEntries, { orgId, entryIds: links.map((link) => link.entry_id) })
      const { seq, digest } = last
      const signature = signEnd(secret, { end: 'pruned', orgId, seq, digest })
      await tx.change(setPrunedEnd, { orgId, seq, digest, signature, at: clock.now() })
      return links.length
    })

  return async () => {
    const before = new Date(clock.millis() - days * 86_400_000)
    let total = 0
    for (const { org_id } of await db.rows(orgsWithOldEntries, { before })) {
      for (let pruned = chunk; pruned === chunk; total += pruned) pruned = await pruneChunk(org_id, before)
    }
    return total
  }
}
