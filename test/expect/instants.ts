import { setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Clock } from '../../src/platform/ground/clock.ts'

/** Matches any instant in the format of responses. */
export const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

/** Waits until the clock shows a later millisecond, so that a new timestamp differs from the previous one. */
export const tick = async (clock: Clock): Promise<void> => {
  const from = clock.millis()
  while (clock.millis() <= from) await setTimeout(1)
}
