/** UTC calendar months and days, as counters name them. */
const dayMs = 86_400_000
let lastDay = { number: 0, name: '1970-01-01' }

/** Asked for every send, and the same for a day. */
export const dayOf = (at: Date): string => {
  const number = Math.floor(at.getTime() / dayMs)
  if (number !== lastDay.number) lastDay = { number, name: at.toISOString().slice(0, 10) }
  return lastDay.name
}
export const monthOf = (at: Date): string => dayOf(at).slice(0, 7)

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
