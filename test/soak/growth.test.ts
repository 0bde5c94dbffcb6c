import { describe, expect, test } from 'vitest'
import { judgeGrowth, type Point, quantile, unexplainedBytes } from './growth.ts'

const tolerance = { relative: 0.1, absolute: 10 }
const series = (count: number, value: (i: number) => number): Point[] =>
  Array.from({ length: count }, (_, i) => ({ at: i * 60, value: value(i) }))
/** Between -1 and 1, the same in every run. */
const noise = (i: number): number => Math.sin(i * 12.9898) * Math.cos(i * 78.233)

describe('a measure', () => {
  test('that stays level does not grow', () => {
    expect(
      judgeGrowth(
        series(20, () => 200),
        tolerance,
      ),
    ).toEqual({ grows: false, judged: true, level: 200, growth: 0 })
  })

  test('that rises steadily by more than its tolerance grows', () => {
    expect(
      judgeGrowth(
        series(20, (i) => 200 + 2 * i),
        tolerance,
      ),
    ).toEqual({ grows: true, judged: true, level: 200, growth: 38 })
  })

  test('that rises under noise as large as its growth grows', () => {
    expect(
      judgeGrowth(
        series(20, (i) => 200 + 3 * i + 30 * noise(i)),
        tolerance,
      ),
    ).toMatchObject({ grows: true, judged: true })
  })

  test('that only fluctuates does not grow', () => {
    expect(
      judgeGrowth(
        series(20, (i) => 200 + 80 * noise(i)),
        tolerance,
      ),
    ).toMatchObject({ grows: false, judged: true })
  })

  test('that rises and falls like a saw does not grow', () => {
    expect(
      judgeGrowth(
        series(24, (i) => 200 + 20 * (i % 6)),
        tolerance,
      ),
    ).toMatchObject({ grows: false, judged: true })
  })

  test('that jumps once at its end does not grow', () => {
    expect(
      judgeGrowth(
        series(20, (i) => (i === 19 ? 5_000 : 200)),
        tolerance,
      ),
    ).toMatchObject({ grows: false, growth: 0 })
  })

  test('that is higher in its second half grows', () => {
    expect(
      judgeGrowth(
        series(20, (i) => (i < 10 ? 200 : 300)),
        tolerance,
      ),
    ).toMatchObject({ grows: true, judged: true })
  })

  test('that rises within its relative tolerance does not grow', () => {
    expect(
      judgeGrowth(
        series(20, (i) => 1_000 + 2 * i),
        tolerance,
      ),
    ).toMatchObject({ grows: false, growth: 38 })
  })

  test('that rises within its absolute tolerance does not grow', () => {
    expect(
      judgeGrowth(
        series(20, (i) => 10 + i / 2),
        tolerance,
      ),
    ).toMatchObject({ grows: false, growth: 9.5 })
  })

  test('that falls does not grow', () => {
    expect(
      judgeGrowth(
        series(20, (i) => 500 - 10 * i),
        tolerance,
      ),
    ).toMatchObject({ grows: false, growth: -190 })
  })

  test('with too few points is not judged', () => {
    expect(
      judgeGrowth(
        series(5, (i) => 100 * i),
        tolerance,
      ),
    ).toEqual({ grows: false, judged: false, level: 0, growth: 0 })
  })

  test('with unevenly spaced points is judged by time', () => {
    const points = [0, 1, 2, 10, 20, 40, 100].map((at) => ({ at, value: 100 + at }))
    expect(judgeGrowth(points, tolerance)).toEqual({ grows: true, judged: true, level: 100, growth: 100 })
  })
})

describe('the bytes of a table that its rows do not explain', () => {
  test('are none while rows and bytes grow alike', () => {
    expect(unexplainedBytes({ bytes: 1_000, live: 100 }, { bytes: 5_000, live: 500 })).toBe(0)
  })

  test('are what a queue gains whose rows come and go', () => {
    expect(unexplainedBytes({ bytes: 1_000, live: 3 }, { bytes: 9_000, live: 2 })).toBe(8_000)
  })

  test('are what a table gains beyond its rows', () => {
    expect(unexplainedBytes({ bytes: 1_000, live: 100 }, { bytes: 5_000, live: 200 })).toBe(3_000)
  })
})

test('a quantile is a value of the list', () => {
  const values = Array.from({ length: 100 }, (_, i) => i + 1)
  expect([quantile(values, 0.5), quantile(values, 0.99), quantile([7], 0.99), quantile([], 0.5)]).toEqual([
    51, 100, 7, 0,
  ])
})
