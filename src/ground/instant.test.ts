import fc from 'fast-check'
import { expect, test } from 'vitest'
import { iso } from './instant.ts'

test('every instant is written as Date writes it, however often and in whatever company it is asked for', () => {
  const near = fc.integer({ min: -200, max: 200 }).map((ms) => new Date(1_790_000_000_000 + ms))
  fc.assert(
    fc.property(fc.array(fc.oneof(near, fc.date({ noInvalidDate: true }))), (all) => {
      expect([...all, ...all].map(iso)).toEqual([...all, ...all].map((at) => at.toISOString()))
    }),
  )
  expect(() => iso(new Date(Number.NaN))).toThrow(RangeError)
})
