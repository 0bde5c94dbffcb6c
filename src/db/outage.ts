import { setTimeout as sleep } from 'node:timers/promises'
import { lostConnection } from './faults.ts'

const pausesMs = [100, 400, 1_000, 2_000, 4_000]

/**
 * For what must not be lost because the database was away for a moment, such as the record of a message that is out.
 * `again` is set on later tries: the first may have taken effect, and only the word of it did not come back.
 */
export const throughOutage = async <T>(work: (again: boolean) => Promise<T>): Promise<T> => {
  for (let tries = 0; ; tries++) {
    try {
      return await work(tries > 0)
    } catch (error) {
      const pause = pausesMs[tries]
      if (pause === undefined || !lostConnection(error)) throw error
      await sleep(pause)
    }
  }
}
