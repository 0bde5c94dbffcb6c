import { setTimeout as sleep } from 'node:timers/promises'
import { lostConnection, uniqueViolation } from './faults.ts'

const pausesMs = [100, 400, 1_000, 2_000, 4_000]

const tryAgain = async <T>(work: (again: boolean) => Promise<T>, first: unknown): Promise<T> => {
  let fault = first
  for (const pause of pausesMs) {
    if (!lostConnection(fault)) break
    await sleep(pause)
    try {
      return await work(true)
    } catch (error) {
      fault = error
    }
  }
  throw fault
}

/**
 * For what must not be lost because the database was away for a moment, such as the record of a message that is out.
 * `again` is set on later tries: the first may have taken effect, and only the word of it did not come back.
 */
export const throughOutage = <T>(work: (again: boolean) => Promise<T>): Promise<T> =>
  work(false).catch((error) => tryAgain(work, error))

/** For rows under an id of our own: after an outage, that one is there already is as good as having written it. */
export const writtenThroughOutage = (write: () => Promise<void>): Promise<void> =>
  throughOutage((again) =>
    write().catch((error) => {
      if (!again || !uniqueViolation(error)) throw error
    }),
  )
