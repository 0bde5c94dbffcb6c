/** A domain in warmup may send to few recipients on the first day and to twice as many on each day after that. */
import { dayMs } from '../../platform/ground/units.ts'

const firstCap = 50

export type Warmup = { startedAt: Date; days: number }

const utcDay = (at: Date): number => Math.floor(at.getTime() / dayMs)

/** Day 0 is the UTC day on which warmup started. */
export const warmupDay = ({ startedAt }: Warmup, at: Date): number => utcDay(at) - utcDay(startedAt)

export const warmupEnd = ({ startedAt, days }: Warmup): Date => new Date((utcDay(startedAt) + days) * dayMs)

/** How many recipients the domain may send to today. Null without a warmup window or after its end. */
export const warmupCap = (warmup: Warmup | null, at: Date): number | null => {
  if (warmup === null) return null
  const day = Math.max(0, warmupDay(warmup, at))
  return day >= warmup.days ? null : firstCap * 2 ** day
}
