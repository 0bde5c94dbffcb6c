import fc from 'fast-check'
import { expect, test } from 'vitest'
import { iso } from './instant.ts'

test('iso gives the same text as toISOString for any sequence of dates', () => {
  const near = fc.integer({ min: -200, max: 200 }).map((ms) => new Date(1_790_000_000_000 + ms))
  fc.assert(
    fc.property(fc.array(fc.oneof(near, fc.date({ noInvalidDate: true }))), (all) => {
      expect([...all, ...all].map(iso)).toEqual([...all, ...all].map((at) => at.toISOString()))
    }),
  )
  expect(() => iso(new Date(Number.NaN))).toThrow(RangeError)
})
