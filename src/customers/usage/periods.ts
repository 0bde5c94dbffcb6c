/** UTC calendar days and months in the format of usage counters: `2026-01-31` and `2026-01`. */
import { dayMs } from '../../platform/ground/units.ts'

let lastDay = { number: 0, name: '1970-01-01' }

/** Caches the last result, because every send needs it and it changes once a day. */
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

/** Usage can be read for the current month and the 24 months before it. */
export const isReadablePeriod = (period: string, at: Date): boolean => {
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(period)) return false
  const oldest = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - 24, 1))
  return period <= monthOf(at) && period >= monthOf(oldest)
}
