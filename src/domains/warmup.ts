/** A new domain sends little at first and twice as much each day, until its window is over. */
const dayMs = 86_400_000
const firstCap = 50

export type Warmup = { startedAt: Date; days: number }

const utcDay = (at: Date): number => Math.floor(at.getTime() / dayMs)

/** Day 0 is the UTC day it started on. */
export const warmupDay = ({ startedAt }: Warmup, at: Date): number => utcDay(at) - utcDay(startedAt)

export const warmupEnd = ({ startedAt, days }: Warmup): Date => new Date((utcDay(startedAt) + days) * dayMs)

/** How many recipients it may reach today; null once the window is over, or when there is none. */
export const warmupCap = (warmup: Warmup | null, at: Date): number | null => {
  if (warmup === null) return null
  const day = Math.max(0, warmupDay(warmup, at))
  return day >= warmup.days ? null : firstCap * 2 ** day
}
