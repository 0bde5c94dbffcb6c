import { expect, test } from 'vitest'
import { median, pairedRatios, percentile, roundOrder } from './figures.ts'

test('the median is the middle value, or halfway between the two middle ones', () => {
  expect(median([9, 1, 5])).toBe(5)
  expect(median([10, 2, 4, 100])).toBe(7)
  expect(median([3])).toBe(3)
  expect(() => median([])).toThrow(RangeError)
})

test('the median leaves the list it was given in its order', () => {
  const rounds = [3, 1, 2]
  median(rounds)
  expect(rounds).toEqual([3, 1, 2])
})

test('a percentile is the measured value that so many percent do not exceed', () => {
  const hundred = Float64Array.from({ length: 100 }, (_, i) => i + 1)
  expect(percentile(hundred, 50)).toBe(50)
  expect(percentile(hundred, 99)).toBe(99)
  expect(percentile(hundred, 100)).toBe(100)
  expect(percentile([7], 50)).toBe(7)
  expect(percentile([1, 2, 3], 99)).toBe(3)
})

test('a percentile of nothing, or outside 0 to 100, is refused', () => {
  expect(() => percentile([], 50)).toThrow(RangeError)
  expect(() => percentile([1], 0)).toThrow(RangeError)
  expect(() => percentile([1], 101)).toThrow(RangeError)
})

test('ratios pair the rounds, so a slow round for both weighs on neither', () => {
  expect(pairedRatios([300, 150, 330], [100, 50, 110])).toEqual([3, 3, 3])
  expect(() => pairedRatios([1, 2], [1])).toThrow(RangeError)
})

test.each([[['a', 'b']], [['a', 'b', 'c']], [['a', 'b', 'c', 'd']], [['a', 'b', 'c', 'd', 'e']]])(
  'of %j each runs once a round, each is first in turn and none always follows the same other',
  (names) => {
    const orders = Array.from({ length: names.length }, (_, round) => roundOrder(names, round))
    for (const order of orders) expect(order.toSorted()).toEqual(names)
    expect(orders.map(([first]) => first)).toEqual(names)
    for (const name of names) {
      const before = orders.map((order) => order[order.indexOf(name) - 1])
      expect(new Set(before).size, `${name} after ${before}`).toBeGreaterThan(1)
    }
  },
)

test('an order of no contenders is empty', () => {
  expect(roundOrder([], 3)).toEqual([])
})
