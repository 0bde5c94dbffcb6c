/** Decides whether a measure grows over a run, from one value per point in time. */

export type Point = { at: number; value: number }

/** A measure grows only if it gains more than both: a share of its level at the start, and an amount in its own unit. */
export type Tolerance = { relative: number; absolute: number }

export type Verdict = {
  grows: boolean
  /** False if there are too few points to tell a trend from chance. */
  judged: boolean
  /** The level at the first point, and what was gained by the last one, both on the fitted line. */
  level: number
  growth: number
}

/** With fewer points, even values that only rise can be chance. */
const minPoints = 6
/** One-sided significance of one percent: a steady measure fails once in a hundred runs, if it also exceeds the tolerance. */
const significantZ = 2.33

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}

const pairsOf = (points: readonly Point[]): [Point, Point][] =>
  points.flatMap((first, i) => points.slice(i + 1).map((second): [Point, Point] => [first, second]))

/** The median of the slopes between all pairs (Theil and Sen): up to a quarter of the points can be outliers. */
const slopeOf = (points: readonly Point[]): number =>
  median(pairsOf(points).map(([a, b]) => (b.value - a.value) / (b.at - a.at)))

/** The test of Mann and Kendall: how far the rising pairs outnumber the falling ones, in standard deviations. */
const trendOf = (points: readonly Point[]): number => {
  const n = points.length
  const rising = pairsOf(points).reduce((sum, [a, b]) => sum + Math.sign(b.value - a.value), 0)
  const sizes = Object.values(Object.groupBy(points, ({ value }) => String(value))).map((same) => same?.length ?? 0)
  const ties = sizes.reduce((sum, t) => sum + t * (t - 1) * (2 * t + 5), 0)
  const variance = (n * (n - 1) * (2 * n + 5) - ties) / 18
  return variance === 0 ? 0 : (rising - Math.sign(rising)) / Math.sqrt(variance)
}

export const judgeGrowth = (points: readonly Point[], tolerance: Tolerance): Verdict => {
  const first = points[0]
  const last = points.at(-1)
  if (!first || !last || points.length < minPoints) return { grows: false, judged: false, level: 0, growth: 0 }
  const slope = slopeOf(points)
  const growth = slope * (last.at - first.at)
  const level = Math.max(0, median(points.map(({ at, value }) => value - slope * (at - first.at))))
  const exceeds = growth > tolerance.absolute && growth > tolerance.relative * level
  return { grows: exceeds && trendOf(points) > significantZ, judged: true, level, growth }
}

/** The value that a share of the sorted values does not exceed. */
export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

/**
 * Bytes of a table that its live rows do not explain. A table whose rows only grow in number gets none; a queue whose
 * rows come and go gets all that it gains.
 */
export const unexplainedBytes = (
  start: { bytes: number; live: number },
  now: { bytes: number; live: number },
): number => {
  const fewRows = 10
  const expected = start.bytes * Math.max(1, now.live / Math.max(start.live, fewRows))
  return now.bytes - expected
}
