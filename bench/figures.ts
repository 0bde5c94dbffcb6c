/** The calculations of the benchmarks. */

const ascending = (a: number, b: number) => a - b

export const median = (values: readonly number[]): number => {
  if (values.length === 0) throw new RangeError('cannot compute the median of an empty list')
  const sorted = [...values].sort(ascending)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Uses the nearest rank, so the result is always a measured value. `sorted` is in ascending order. */
export const percentile = (sorted: ArrayLike<number>, percent: number): number => {
  if (sorted.length === 0) throw new RangeError('cannot compute a percentile of an empty list')
  if (!(percent > 0 && percent <= 100))
    throw new RangeError(`a percentile must be above 0 and at most 100, not ${percent}`)
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1]!
}

/**
 * The ratio of `of` to `to` in each round. Both are measured seconds apart within a round, so anything that slows the
 * machine in that round slows both and cancels out.
 */
export const pairedRatios = (of: readonly number[], to: readonly number[]): number[] => {
  if (of.length !== to.length) throw new RangeError(`the numbers of rounds differ: ${of.length} and ${to.length}`)
  return of.map((value, round) => value / to[round]!)
}

/**
 * The order of one round. Each round starts with the next contender, and every second round runs in reverse, so that
 * each contender runs first once and none always runs after the same other contender.
 */
export const roundOrder = <T>(contenders: readonly T[], round: number): T[] => {
  const step = round % 2 === 0 ? 1 : -1
  return contenders.map((_, position) => contenders.at((round + step * position) % contenders.length)!)
}

export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits))
