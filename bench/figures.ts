/** The arithmetic of the benchmarks: what becomes of many measurements. */

const ascending = (a: number, b: number) => a - b

export const median = (values: readonly number[]): number => {
  if (values.length === 0) throw new RangeError('the median of nothing')
  const sorted = [...values].sort(ascending)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Nearest rank: always a value that was measured, never one in between. `sorted` ascends. */
export const percentile = (sorted: ArrayLike<number>, percent: number): number => {
  if (sorted.length === 0) throw new RangeError('a percentile of nothing')
  if (!(percent > 0 && percent <= 100)) throw new RangeError(`no such percentile: ${percent}`)
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1]!
}

/**
 * How `of` compares with `to`, round by round. Both were measured seconds apart in each round, so what slowed
 * the machine in a round slowed both and falls out of that round's ratio.
 */
export const pairedRatios = (of: readonly number[], to: readonly number[]): number[] => {
  if (of.length !== to.length) throw new RangeError(`unpaired rounds: ${of.length} and ${to.length}`)
  return of.map((value, round) => value / to[round]!)
}

/**
 * The order of one round: it starts one further along each time and goes the other way every second time, so
 * that each contender has its turn at being first and none always runs in the wake of the same other.
 */
export const roundOrder = <T>(contenders: readonly T[], round: number): T[] => {
  const step = round % 2 === 0 ? 1 : -1
  return contenders.map((_, place) => contenders.at((round + step * place) % contenders.length)!)
}

export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits))
