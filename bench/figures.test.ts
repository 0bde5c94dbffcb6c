import { expect, test } from 'vitest'
import { median, pairedRatios, percentile, roundOrder } from './figures.ts'

test('The median is the middle value, or the mean of the two middle values', () => {
  expect(median([9, 1, 5])).toBe(5)
  expect(median([10, 2, 4, 100])).toBe(7)
  expect(median([3])).toBe(3)
  expect(() => median([])).toThrow(RangeError)
})

test('The median does not reorder its input', () => {
  const rounds = [3, 1, 2]
  median(rounds)
  expect(rounds).toEqual([3, 1, 2])
})

test('A percentile is the measured value that the given share of values does not exceed', () => {
  const hundred = Float64Array.from({ length: 100 }, (_, i) => i + 1)
  expect(percentile(hundred, 50)).toBe(50)
  expect(percentile(hundred, 99)).toBe(99)
  expect(percentile(hundred, 100)).toBe(100)
  expect(percentile([7], 50)).toBe(7)
  expect(percentile([1, 2, 3], 99)).toBe(3)
})

test('A percentile of an empty list, or outside 0 to 100, is rejected', () => {
  expect(() => percentile([], 50)).toThrow(RangeError)
  expect(() => percentile([1], 0)).toThrow(RangeError)
  expect(() => percentile([1], 101)).toThrow(RangeError)
})

test('Ratios are computed per round, so a round that is slow for both changes nothing', () => {
  expect(pairedRatios([300, 150, 330], [100, 50, 110])).toEqual([3, 3, 3])
  expect(() => pairedRatios([1, 2], [1])).toThrow(RangeError)
})

test.each([[['a', 'b']], [['a', 'b', 'c']], [['a', 'b', 'c', 'd']], [['a', 'b', 'c', 'd', 'e']]])(
  'With %j each contender runs once a round, each is first once, and none always follows the same other',
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

test('The order of no contenders is empty', () => {
  expect(roundOrder([], 3)).toEqual([])
})
