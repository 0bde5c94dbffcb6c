/**
 * Text messages to an audience are not sent from 21:00 to 08:00 at their destination. The time at the destination
 * follows from the calling code. A code with several time zones is open only while all of them are.
 */
import { instantOfLocal } from '../../platform/ground/local-time.ts'
import { callingCodeOf, isE164 } from '../../platform/ground/phone-number.ts'
import { dayMs } from '../../platform/ground/units.ts'
import type { HeldUntil } from '../messages/settle-claimed.ts'

const opensAt = '08:00'
const closesAt = '21:00'

/** Milliseconds since 1970. The end is not part of the span. */
export type Span = { from: number; to: number }

/** Ranges of +1 that lie far west of the others, each with a time of its own. */
const ownRanges: Record<string, readonly string[]> = {
  '1670': ['Pacific/Saipan'],
  '1671': ['Pacific/Guam'],
  '1684': ['Pacific/Pago_Pago'],
}

const northAmerica: readonly string[] = [
  'America/St_Johns',
  'America/Halifax',
  'America/New_York',
  'America/Chicago',
  'America/Denver',
  'America/Phoenix',
  'America/Los_Angeles',
  'America/Anchorage',
  'Pacific/Honolulu',
]

/** Countries that have a calling code but no region in Unicode's data: Ascension, Tristan da Cunha, Kosovo. */
const withoutRegion: Record<string, readonly string[]> = {
  AC: ['Atlantic/St_Helena'],
  TA: ['Atlantic/St_Helena'],
  XK: ['Europe/Belgrade'],
}

/** TypeScript does not declare the method yet. */
type RegionalLocale = Intl.Locale & { getTimeZones(): string[] | undefined }

/** The zones come from the same data as the rules of the zones: the Unicode library in Node. */
const zonesOfCountry = (country: string): readonly string[] =>
  withoutRegion[country] ?? (new Intl.Locale(`und-${country}`) as RegionalLocale).getTimeZones() ?? []

const zonesOfCode = new Map<string, readonly string[]>()

/** Bounds the caches, which are filled again when they are needed. */
const mostCached = 20_000
const remember = <V>(cache: Map<string, V>, key: string, value: V): V => {
  if (cache.size >= mostCached) cache.clear()
  cache.set(key, value)
  return value
}

/** The code that decides the time at the number, with its zones. Undefined when the number does not show where it is. */
export const placeOf = (number: string): { code: string; zones: readonly string[] } | undefined => {
  if (!isE164(number)) return undefined
  const range = number.slice(1, 5)
  const own = ownRanges[range]
  if (own) return { code: range, zones: own }
  const found = callingCodeOf(number)
  if (!found || found.countries.length === 0) return undefined
  const { code, countries } = found
  if (code === '1') return { code, zones: northAmerica }
  const known = zonesOfCode.get(code)
  return { code, zones: known ?? remember(zonesOfCode, code, [...new Set(countries.flatMap(zonesOfCountry))]) }
}

const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)

const windows = new Map<string, Span>()

/** The open hours of one date in one zone. */
const windowOf = (zone: string, day: number): Span => {
  const key = `${zone} ${day}`
  const known = windows.get(key)
  if (known) return known
  const date = dateOf(day)
  const at = (time: string) => instantOfLocal(`${date}T${time}`, zone).getTime()
  return remember(windows, key, { from: at(opensAt), to: at(closesAt) })
}

const intersect = (some: Span[], others: Span[]): Span[] =>
  some.flatMap((a) =>
    others.flatMap((b) => {
      const span = { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) }
      return span.from < span.to ? [span] : []
    }),
  )

/** Enough on both sides of a day for the last closing before it and the next opening after it, in every zone. */
const daysAround = [-3, -2, -1, 0, 1, 2, 3]

const openings = new Map<string, Span[]>()

/** When all zones are open, around one UTC day. */
const openAround = (code: string, zones: readonly string[], day: number): Span[] => {
  const key = `${code} ${day}`
  const known = openings.get(key)
  if (known) return known
  const ofZone = (zone: string) => daysAround.map((offset) => windowOf(zone, day + offset))
  return remember(openings, key, zones.map(ofZone).reduce(intersect))
}

/** The quiet period around an instant: from the last closing to the next opening. Undefined outside of quiet hours. */
export const quietPeriodAt = (number: string, at: Date): Span | undefined => {
  const place = placeOf(number)
  if (!place || place.zones.length === 0) return undefined
  const time = at.getTime()
  const open = openAround(place.code, place.zones, Math.floor(time / dayMs))
  if (open.some(({ from, to }) => from <= time && time < to)) return undefined
  const closed = open.findLast(({ to }) => to <= time)
  const opens = open.find(({ from }) => from > time)
  // A code whose zones are never open together would hold its messages for ever.
  return closed && opens && { from: closed.to, to: opens.from }
}

/** Far more than needed: each period but the first is as long as the slot was behind, less one opening. */
const mostPeriods = 100

/**
 * Moves a slot out of quiet hours. It keeps its place among the slots that move with it: as long after the opening as
 * it was after the start of the send, or after the closing if that is later.
 */
export const outOfQuietHours = (number: string, slot: Date, start: Date): Date => {
  let at = slot
  for (let periods = 0; periods < mostPeriods; periods++) {
    const quiet = quietPeriodAt(number, at)
    if (!quiet) return at
    at = new Date(quiet.to + at.getTime() - Math.max(start.getTime(), quiet.from))
  }
  return at
}

/** Later than a quiet period begins, no start of a send matters. */
const longAgo = new Date(0)

/** A text message of a job that was put off, or whose worker was late, does not arrive at night. */
export const heldUntil: HeldUntil = ({ job_id, channel, org_quiet_hours, to_addresses }, at) =>
  job_id !== null && channel === 'sms' && org_quiet_hours ? outOfQuietHours(to_addresses[0] ?? '', at, longAgo) : at
