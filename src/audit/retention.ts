import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { signEnd } from './chain.ts'
import { lockChain, moveTail, oldestLinks, openPath, orgsWithOld, prune } from './store.ts'

const chunk = 1_000

/** Removes entries past their time from the old end of each chain; returns how many. */
export type PruneAudit = () => Promise<number>

type Needs = { db: Db; clock: Clock; secret: string | undefined; days: number }

type OldLink = { created_at: Date | null }

/**
 * Up to the last link before the first that is too young. One whose entry is gone goes only with an older one behind
 * it: that it is gone must show for as long as its entry would have stood.
 */
const pastTheirTime = <L extends OldLink>(links: L[], before: Date): L[] => {
  const young = links.findIndex((link) => link.created_at !== null && link.created_at >= before)
  const run = young < 0 ? links : links.slice(0, young)
  return run.slice(0, run.findLastIndex((link) => link.created_at !== null) + 1)
}

export const makePruneAudit = ({ db, clock, secret, days }: Needs): PruneAudit => {
  const pruneChunk = (orgId: string, before: Date): Promise<number> =>
    db.tx(async (tx) => {
      // Nothing when a linker has the chain in hand: the next night finds it.
      if (!(await tx.row(lockChain, { orgId }))) return 0
      const links = pastTheirTime(await tx.rows(oldestLinks, { orgId, limit: chunk }), before)
      const last = links.at(-1)
      if (!last) return 0
      await tx.row(openPath, { path: 'retention' })
      await tx.change(prune, { orgId, entryIds: links.map((link) => link.entry_id) })
      const signature = signEnd(secret, 'pruned', orgId, last.seq, last.digest)
      await tx.change(moveTail, { orgId, seq: last.seq, digest: last.digest, signature, at: clock.now() })
      return links.length
    })

  return async () => {
    const before = new Date(clock.millis() - days * 86_400_000)
    let total = 0
    for (const { org_id } of await db.rows(orgsWithOld, { before })) {
      for (let pruned = chunk; pruned === chunk; total += pruned) pruned = await pruneChunk(org_id, before)
    }
    return total
  }
}
