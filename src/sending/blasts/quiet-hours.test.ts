import { getCountries, getCountryCallingCode } from 'libphonenumber-js/max'
import { describe, expect, test } from 'vitest'
import { outOfQuietHours, placeOf, quietPeriodAt, type Span } from './quiet-hours.ts'

const minute = 60_000
const hour = 60 * minute

const codes = [
  ...new Set([...getCountries().map((country) => getCountryCallingCode(country) as string), '1670', '1671', '1684']),
]
const numberOf = (code: string): string => `+${code}${'2345678901'.slice(0, 12 - code.length)}`

const formats = new Map<string, Intl.DateTimeFormat>()
const localHour = (zone: string, at: number): number => {
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en', { timeZone: zone, hour: 'numeric', hourCycle: 'h23' })
    formats.set(zone, format)
  }
  return Number(format.format(at))
}
const isQuiet = (number: string, at: number | string): boolean => quietPeriodAt(number, new Date(at)) !== undefined

const moved = (number: string, slot: string, start = slot): string =>
  outOfQuietHours(number, new Date(slot), new Date(start)).toISOString()

describe.each(['2026-01-15', '2026-07-15'])('every calling code on %s', (date) => {
  const quarters = Array.from({ length: 96 }, (_, i) => Date.parse(date) + i * 15 * minute)

  test('S-396 S-400 S-401 SD-107 a code is quiet whenever it is before 08:00 or after 21:00 in one of its zones', () => {
    for (const code of codes) {
      const number = numberOf(code)
      const zones = placeOf(number)?.zones ?? []
      expect(zones, code).not.toEqual([])
      for (const at of quarters) {
        const quiet = zones.some((zone) => localHour(zone, at) < 8 || localHour(zone, at) >= 21)
        expect(isQuiet(number, at), `+${code} at ${new Date(at).toISOString()}`).toBe(quiet)
      }
    }
  })

  test('S-402 SD-107 every code opens once a day, when its last zone reaches 08:00', () => {
    for (const code of codes) {
      const number = numberOf(code)
      const opens = quarters.filter((at) => isQuiet(number, at - 1) && !isQuiet(number, at))
      expect(opens, code).toHaveLength(1)
      const zones = placeOf(number)?.zones ?? []
      const minuteOf = (zone: string) =>
        new Date(opens[0] as number).toLocaleTimeString('en', { timeZone: zone, hour12: false, timeStyle: 'short' })
      expect(zones.map(minuteOf), code).toContain('08:00')
    }
  })
})

describe('the zones of a code', () => {
  test('SD-107 the code +1 opens at 18:00 UTC and closes at 21:00 in Newfoundland', () => {
    expect(isQuiet('+12025550123', '2026-01-15T17:59:59.999Z')).toBe(true)
    expect(isQuiet('+12025550123', '2026-01-15T18:00:00.000Z')).toBe(false)
    expect(isQuiet('+12025550123', '2026-01-16T00:29:59.999Z')).toBe(false)
    expect(isQuiet('+12025550123', '2026-01-16T00:30:00.000Z')).toBe(true)
  })

  test.each([
    ['Guam', '+16715550123', '2026-01-14T22:00:00.000Z'],
    ['the Northern Marianas', '+16705550123', '2026-01-14T22:00:00.000Z'],
    ['American Samoa', '+16845550123', '2026-01-15T19:00:00.000Z'],
  ])('SD-107 numbers of %s open at their own 08:00', (_, number, opening) => {
    expect(isQuiet(number, Date.parse(opening) - 1)).toBe(true)
    expect(isQuiet(number, opening)).toBe(false)
  })

  test.each(['+888123456789', '+8701234567', '+2101234567', '07700900123', '44', '+', ''])(
    'S-403 the number %j shows no place and is never held',
    (number) => {
      expect(moved(number, '2026-01-15T03:00:00.000Z')).toBe('2026-01-15T03:00:00.000Z')
    },
  )
})

describe('the new slot', () => {
  test('SD-106 21:00:00 is quiet and 08:00:00 is not', () => {
    expect(isQuiet('+447700900123', '2026-01-15T20:59:59.999Z')).toBe(false)
    expect(isQuiet('+447700900123', '2026-01-15T21:00:00.000Z')).toBe(true)
    expect(isQuiet('+447700900123', '2026-01-16T07:59:59.999Z')).toBe(true)
    expect(isQuiet('+447700900123', '2026-01-16T08:00:00.000Z')).toBe(false)
  })

  test('SD-106 a send that starts in quiet hours keeps its ramp from the opening on', () => {
    const start = '2026-01-15T23:00:00.000Z'
    expect(moved('+447700900123', start, start)).toBe('2026-01-16T08:00:00.000Z')
    expect(moved('+447700900123', '2026-01-15T23:10:00.000Z', start)).toBe('2026-01-16T08:10:00.000Z')
  })

  test('S-397 SD-106 a ramp that runs into quiet hours goes on where it stopped', () => {
    const start = '2026-01-15T20:30:00.000Z'
    expect(moved('+447700900123', '2026-01-15T20:50:00.000Z', start)).toBe('2026-01-15T20:50:00.000Z')
    expect(moved('+447700900123', '2026-01-15T21:00:00.000Z', start)).toBe('2026-01-16T08:00:00.000Z')
    expect(moved('+447700900123', '2026-01-15T21:25:00.000Z', start)).toBe('2026-01-16T08:25:00.000Z')
  })

  test('S-397 SD-106 a slot that is closed again after it moved is moved again', () => {
    const start = '2026-01-15T06:00:00.000Z'
    // The zones of +7 are open together from 06:00 to 09:00 UTC.
    expect(moved('+79161234567', '2026-01-15T08:59:00.000Z', start)).toBe('2026-01-15T08:59:00.000Z')
    expect(moved('+79161234567', '2026-01-15T10:00:00.000Z', start)).toBe('2026-01-16T07:00:00.000Z')
    expect(moved('+79161234567', '2026-01-15T13:00:00.000Z', start)).toBe('2026-01-17T07:00:00.000Z')
  })

  test('S-397 SD-106 a ramp over a whole day never meets quiet hours, for every calling code', () => {
    const start = new Date('2026-07-15T12:34:56.000Z')
    for (const code of codes) {
      const number = numberOf(code)
      for (let i = 0; i < 49; i++) {
        const slot = new Date(start.getTime() + i * 30 * minute)
        const at = outOfQuietHours(number, slot, start)
        expect(isQuiet(number, at.getTime()), code).toBe(false)
        expect(at.getTime(), code).toBeGreaterThanOrEqual(slot.getTime())
      }
    }
  })

  test('S-397 SD-106 slots of one quiet period keep their distances, for every calling code', () => {
    for (const code of codes) {
      const number = numberOf(code)
      const quiet = [0, 6, 12, 18]
        .map((hours) => quietPeriodAt(number, new Date(Date.UTC(2026, 6, 15, hours))))
        .find((period) => period !== undefined) as Span
      const start = new Date(quiet.to - hour)
      const [first, second] = [0, 7].map((minutes) =>
        outOfQuietHours(number, new Date(start.getTime() + minutes * minute), start).getTime(),
      ) as [number, number]
      expect(first, code).toBe(quiet.to)
      expect(second - first, code).toBe(7 * minute)
    }
  })
})

describe('days with a clock change', () => {
  test.each([
    ['London, spring', '+447700900123', '2026-03-28T22:00:00.000Z', '2026-03-29T07:00:00.000Z'],
    ['London, autumn', '+447700900123', '2026-10-24T22:00:00.000Z', '2026-10-25T08:00:00.000Z'],
    ['New Zealand, autumn', '+64211234567', '2026-04-04T12:00:00.000Z', '2026-04-04T20:00:00.000Z'],
    ['New Zealand, spring', '+64211234567', '2026-09-26T12:00:00.000Z', '2026-09-26T19:00:00.000Z'],
    ['Chile and Easter Island, autumn', '+56212345678', '2026-04-05T03:00:00.000Z', '2026-04-05T14:00:00.000Z'],
    ['Chile and Easter Island, spring', '+56212345678', '2026-09-06T03:00:00.000Z', '2026-09-06T13:00:00.000Z'],
  ])('S-400 SD-106 the night of the change ends at 08:00 of the new time: %s', (_, number, slot, opening) => {
    expect(moved(number, slot)).toBe(opening)
    expect(isQuiet(number, Date.parse(opening) - 1)).toBe(true)
    expect(isQuiet(number, Date.parse(opening) + hour)).toBe(false)
  })
})
