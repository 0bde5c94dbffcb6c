import { expect, test } from 'vitest'
import { movableClock, systemClock } from './clock.ts'

test('a movable clock keeps ticking after it is advanced and never moves back', () => {
  const clock = movableClock()
  clock.advance(86_400_000)
  const ahead = clock.millis() - systemClock.millis()
  expect(Math.abs(ahead - 86_400_000)).toBeLessThan(1_000)
  expect(clock.offset()).toBe(86_400_000)
  for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => clock.advance(wrong)).toThrow('only moves forward')
  }
  expect(clock.offset()).toBe(86_400_000)
})
