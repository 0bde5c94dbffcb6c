import { describe, expect, test } from 'vitest'
import { instantOfLocal, isLocalTime, isTimeZone } from './local-time.ts'

test.each([
  ['summer', '2026-07-01T09:00', 'Europe/Berlin', '2026-07-01T07:00:00.000Z'],
  ['winter', '2026-01-05T09:00:30', 'America/New_York', '2026-01-05T14:00:30.000Z'],
  ['a half-hour zone', '2026-01-05T09:00', 'Asia/Kolkata', '2026-01-05T03:30:00.000Z'],
  ['a skipped time in the north', '2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
  ['a skipped time in the south', '2026-10-04T02:30', 'Australia/Sydney', '2026-10-03T16:30:00.000Z'],
  ['a repeated time in the north', '2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
  ['a repeated time in the south', '2026-04-05T02:30', 'Australia/Sydney', '2026-04-04T15:30:00.000Z'],
  ['a skip of half an hour', '2026-10-04T02:15', 'Australia/Lord_Howe', '2026-10-03T15:45:00.000Z'],
  ['a zone name in lower case', '2026-07-01T09:00', 'europe/berlin', '2026-07-01T07:00:00.000Z'],
])('S-150 %s is converted', (_, local, zone, instant) => {
  expect(instantOfLocal(local, zone).toISOString()).toBe(instant)
})

describe('validation', () => {
  test.each([
    ['2026-01-05T10:00', true],
    ['2026-01-05T10:00:59', true],
    ['2024-02-29T00:00', true],
    ['2026-02-29T00:00', false],
    ['2026-01-05T24:00', false],
    ['2026-01-05T10:00:60', false],
    ['2026-01-05T10:00Z', false],
    ['2026-01-05T10:00+01:00', false],
    ['2026-01-05T10:00[Europe/Berlin]', false],
    ['2026-01-05 10:00', false],
    ['2026-01-05', false],
    ['', false],
  ])('local time %j: %s', (text, valid) => {
    expect(isLocalTime(text)).toBe(valid)
  })

  test.each([
    ['Europe/Berlin', true],
    ['UTC', true],
    ['Etc/GMT+5', true],
    ['America/Argentina/Buenos_Aires', true],
    ['Europe/Atlantis', false],
    ['+05:00', false],
    ['', false],
    ['Z', false],
  ])('zone %j: %s', (zone, valid) => {
    expect(isTimeZone(zone)).toBe(valid)
    expect(isTimeZone(zone)).toBe(valid)
  })
})
