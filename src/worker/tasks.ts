import type { Chain } from '../audit/chain.ts'
import type { PruneAudit } from '../audit/retention.ts'
import type { Idempotency } from '../idempotency/claims.ts'
import type { KeepDeliveries } from '../webhooks/retention.ts'
import type { WebhookLoop } from './webhooks.ts'

/** Background work by name: run on its schedule by the worker, and on demand by the dev tools. */
export type Task = {
  /** Five-field cron, UTC. Absent: a loop of the worker does it all the time. */
  cron?: string
  /** One pass to the end; answers what it did, as counts. */
  run: () => Promise<Record<string, number>>
}

export type Tasks = Record<string, Task>

type Needs = {
  idempotency: Idempotency
  chain: Chain
  pruneAudit: PruneAudit
  deliveries: KeepDeliveries
  webhooks: WebhookLoop
}

export const makeTasks = ({ idempotency, chain, pruneAudit, deliveries, webhooks }: Needs): Tasks => ({
  retention: {
    cron: '7 * * * *',
    run: async () => {
      await deliveries.prepare()
      // What is pruned must have its place in the chain first.
      const audit_entries_linked = await chain.link()
      return {
        idempotency_keys_deleted: await idempotency.sweep(),
        audit_entries_linked,
        audit_entries_deleted: await pruneAudit(),
        webhook_deliveries_deleted: await deliveries.prune(),
      }
    },
  },
  webhooks: { run: () => webhooks.pass() },
})
