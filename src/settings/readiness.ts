/** Whether the service can handle requests: its database accepts writes, the worker of this process runs, and it does not stop. */
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { writeSetting } from './store.ts'

type Needs = { db: Db; clock: Clock; workerRuns: () => boolean; stopping: () => boolean }

/** Anyone may ask, so a result is shared for this long. */
const sharedMs = 500

/** Throws when the service is not ready. A read would succeed on a full disk and on a standby, so it writes. */
export const makeReadiness = ({ db, clock, workerRuns, stopping }: Needs): (() => Promise<void>) => {
  let shared: { until: number; result: Promise<unknown> } | undefined
  const probe = (): Promise<unknown> =>
    db.change(writeSetting, { name: 'readiness_probe', value: JSON.stringify(clock.now()), at: clock.now() })
  return async () => {
    if (stopping()) throw new Error('the service stops')
    if (!workerRuns()) throw new Error('the worker has not started')
    const now = performance.now()
    if (!shared || shared.until <= now) shared = { until: now + sharedMs, result: probe() }
    await shared.result
  }
}
