import { expect, test } from 'vitest'
import { movableClock, systemClock } from './clock.ts'

test('a movable clock returns to the system time when it is reset', () => {
  const clock = movableClock(86_400_000)
  clock.advance(1_000)
  clock.reset()
  expect(clock.offset()).toBe(0)
  const before = systemClock.millis()
  const now = clock.millis()
  expect(now).toBeGreaterThanOrEqual(before)
  expect(now).toBeLessThanOrEqual(systemClock.millis())
})

test('a movable clock keeps ticking after it is advanced and does not move back by a negative amount', () => {
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
