/** How long the oldest item of each queue has waited, by the state that it waits in. */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { oldestWaiting } from './store.ts'

type QueueAge = { labels: { queue: string; state: string }; value: number }

/** Several scrapers do not multiply the statement. */
const keptMs = 5_000

/** In seconds, and 0 while nothing waits. Without a database no age is known, and the result is empty. */
export const makeReadQueueAges = ({ db, clock }: { db: Db; clock: Clock }): (() => Promise<QueueAge[]>) => {
  let kept: { readAt: number; ages: Promise<QueueAge[]> } | undefined
  const read = async (): Promise<QueueAge[]> => {
    const now = clock.now()
    const rows = await db.rows(oldestWaiting, { now })
    return rows.map(({ queue, state, since }) => ({
      labels: { queue, state },
      value: since === null ? 0 : Math.max(0, now.getTime() - since.getTime()) / 1_000,
    }))
  }
  return () => {
    if (kept && performance.now() - kept.readAt < keptMs) return kept.ages
    const ages = read().catch(() => [])
    kept = { readAt: performance.now(), ages }
    return ages
  }
}
