import { setTimeout as sleep } from 'node:timers/promises'
import { lostConnection, uniqueViolation } from './faults.ts'

/** Together longer than a failover, which takes up to half a minute. */
const pausesMs = [100, 400, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000, 5_000]

/**
 * Retries work that must survive a restart or a failover of the database, such as recording a message that was sent.
 * `again` is true on retries: an earlier try may have taken effect even though its response was lost.
 */
export const retryOnOutage = async <T>(
  work: (again: boolean) => Promise<T>,
  wait: (ms: number) => Promise<unknown> = sleep,
): Promise<T> => {
  for (let tries = 0; ; tries++) {
    try {
      return await work(tries > 0)
    } catch (error) {
      const pause = pausesMs[tries]
      if (pause === undefined || !lostConnection(error)) throw error
      await wait(pause)
    }
  }
}

/** For rows with ids that we generate: on a retry, a row that already exists is the one that an earlier try wrote. */
export const insertWithRetry = (write: () => Promise<void>): Promise<void> =>
  retryOnOutage((again) =>
    write().catch((error) => {
      if (!again || !uniqueViolation(error)) throw error
    }),
  )
