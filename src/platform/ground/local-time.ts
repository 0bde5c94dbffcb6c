/** Converts a local time in a time zone to an instant, by the time zone rules of this process. */
import { Temporal } from 'temporal-polyfill'

const localForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:[0-5]\d)?$/

/** A date and time without an offset, such as 2026-03-29T09:00. */
export const isLocalTime = (text: string): boolean => {
  if (!localForm.test(text)) return false
  try {
    Temporal.PlainDateTime.from(text, { overflow: 'reject' })
    return true
  } catch {
    return false
  }
}

/** Excludes offsets such as +05:00, which Intl accepts as zones. */
const zoneForm = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/
const knownZones = new Set<string>()

/** Whether the text is the name of an IANA time zone. */
export const isTimeZone = (zone: string): boolean => {
  if (knownZones.has(zone)) return true
  if (!zoneForm.test(zone)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
  } catch {
    return false
  }
  // Names ignore case, so one zone has many spellings.
  if (knownZones.size < 2_000) knownZones.add(zone)
  return true
}

/** A time that a clock change skips moves forward by the gap. A time that occurs twice is the first of the two. */
export const instantOfLocal = (local: string, zone: string): Date =>
  new Date(Temporal.PlainDateTime.from(local).toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds)
