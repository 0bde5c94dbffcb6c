/** Decides whether a payload pauses the service for too long. */
import type { Reading } from './meter.ts'

export const limitMs = 250

/** With less processor time in a pause that long, other programs had the processor. */
const busyMs = 0.8 * limitMs

/** Other programs on the machine can delay one attempt, but hardly three in a row. */
export const attempts = 3

export const longestOf = ({ insideMs, outsideMs }: Reading): number => Math.max(insideMs, outsideMs)

export const isTooLong = (reading: Reading): boolean => longestOf(reading) > limitMs && reading.cpuMs > busyMs

/** The shortest of the attempts, of which there are more only while every one of them is too long. */
export const leastPause = async (attempt: () => Promise<Reading>): Promise<Reading> => {
  let least = await attempt()
  for (let nth = 1; nth < attempts && isTooLong(least); nth++) {
    const next = await attempt()
    if (!isTooLong(next) || longestOf(next) < longestOf(least)) least = next
  }
  return least
}
