import { setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Clock } from '../../src/ground/clock.ts'

/** Any instant as answers show it. */
export const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

/** Waits until the clock shows a later millisecond, so that a new time can be told from the one before. */
export const tick = async (clock: Clock): Promise<void> => {
  const from = clock.millis()
  while (clock.millis() <= from) await setTimeout(1)
}
