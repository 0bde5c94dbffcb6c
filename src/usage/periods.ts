/** UTC calendar months and days, as counters name them. */
export const monthOf = (at: Date): string => at.toISOString().slice(0, 7)
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10)

const secondsTo = (then: number, at: Date): number => Math.max(1, Math.ceil((then - at.getTime()) / 1000))

export const secondsToNextMonth = (at: Date): number =>
  secondsTo(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1), at)

export const secondsToNextDay = (at: Date): number =>
  secondsTo(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1), at)

/** The months a read may ask for: this one and 24 back. */
export const isReadablePeriod = (period: string, at: Date): boolean => {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(period)) return false
  const oldest = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - 24, 1))
  return period <= monthOf(at) && period >= monthOf(oldest)
}
