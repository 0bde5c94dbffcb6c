import { setTimeout as sleep } from 'node:timers/promises'
import { lostConnection, uniqueViolation } from './faults.ts'

/** Together longer than a failover, which takes up to half a minute. */
const pausesMs = [100, 400, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000, 5_000]

type Wait = (ms: number) => Promise<unknown>

const retry = async <T>(work: (again: boolean) => Promise<T>, firstError: unknown, wait: Wait): Promise<T> => {
  let lastError = firstError
  for (const pause of pausesMs) {
    if (!lostConnection(lastError)) break
    await wait(pause)
    try {
      return await work(true)
    } catch (error) {
      lastError = error
    }
  }
  throw lastError
}

/**
 * Retries work that must survive a restart or a failover of the database, such as recording a message that was sent.
 * `again` is true on retries: an earlier try may have taken effect even though its response was lost.
 */
export const retryOnOutage = <T>(work: (again: boolean) => Promise<T>, wait: Wait = sleep): Promise<T> =>
  work(false).catch((error) => retry(work, error, wait))

/** For rows with ids that we generate: on a retry, a row that already exists is the one that an earlier try wrote. */
export const insertWithRetry = (write: () => Promise<void>): Promise<void> =>
  retryOnOutage((again) =>
    write().catch((error) => {
      if (!again || !uniqueViolation(error)) throw error
    }),
  )
