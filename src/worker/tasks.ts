import type { Idempotency } from '../idempotency/claims.ts'

/** Background work by name: run on its schedule by the worker, and on demand by the dev tools. */
export type Task = {
  /** Five-field cron, UTC. */
  cron: string
  /** One pass to the end; answers what it did, as counts. */
  run: () => Promise<Record<string, number>>
}

export type Tasks = Record<string, Task>

export const makeTasks = ({ idempotency }: { idempotency: Idempotency }): Tasks => ({
  retention: {
    cron: '7 * * * *',
    run: async () => ({ idempotency_keys_deleted: await idempotency.sweep() }),
  },
})
