/** Whether the service can handle requests: its database accepts writes, and the worker of this process runs. */
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { writeSetting } from './store.ts'

type Needs = { db: Db; clock: Clock; workerRuns: () => boolean }

/** Anyone may ask, so a result is shared for this long. */
const sharedMs = 500

/** Throws when the service is not ready. A read would succeed on a full disk and on a standby, so it writes. */
export const makeReadiness = ({ db, clock, workerRuns }: Needs): (() => Promise<void>) => {
  let shared: { until: number; result: Promise<unknown> } | undefined
  const probe = (): Promise<unknown> =>
    db.change(writeSetting, { name: 'readiness_probe', value: JSON.stringify(clock.now()), at: clock.now() })
  return async () => {
    if (!workerRuns()) throw new Error('the worker has not started')
    const now = performance.now()
    if (!shared || shared.until <= now) shared = { until: now + sharedMs, result: probe() }
    await shared.result
  }
}
