import type { Chain } from '../audit/chain.ts'
import type { PruneAudit } from '../audit/retention.ts'
import type { Idempotency } from '../idempotency/claims.ts'

/** Background work by name: run on its schedule by the worker, and on demand by the dev tools. */
export type Task = {
  /** Five-field cron, UTC. */
  cron: string
  /** One pass to the end; answers what it did, as counts. */
  run: () => Promise<Record<string, number>>
}

export type Tasks = Record<string, Task>

type Needs = {
  idempotency: Idempotency
  chain: Chain
  pruneAudit: PruneAudit
  sweepMarks: () => Promise<number>
}

export const makeTasks = ({ idempotency, chain, pruneAudit, sweepMarks }: Needs): Tasks => ({
  retention: {
    cron: '7 * * * *',
    run: async () => {
      // What is pruned must have its place in the chain first.
      const audit_entries_linked = await chain.link()
      return {
        idempotency_keys_deleted: await idempotency.sweep(),
        audit_entries_linked,
        audit_entries_deleted: await pruneAudit(),
        tracking_marks_deleted: await sweepMarks(),
      }
    },
  },
})
