import { describe, expect, test } from 'vitest'
import { makePlan, readOptions } from './plan.ts'

describe('the options of a soak', () => {
  test.each([
    [['--hours', '2'], 7_200],
    [['--hours', '0.5'], 1_800],
    [['--minutes', '30'], 1_800],
  ])('%j give its length', (args, seconds) => {
    expect(readOptions(args)).toEqual({ seconds, reportFile: undefined, clients: 6, startOnly: false })
  })

  test.each([
    [[]],
    [['--hours', '1', '--minutes', '1']],
    [['--minutes', '1']],
    [['--hours', 'x']],
    [['--hours', '1001']],
  ])('%j are refused with the usage', (args) => {
    expect(() => readOptions(args)).toThrow('Usage: npm run soak')
  })

  test.each(['0', '501', '1.5', 'x'])('%s clients are refused', (clients) => {
    expect(() => readOptions(['--hours', '1', '--clients', clients])).toThrow('--clients must be from 1 to 500')
  })
})

describe('the plan of a soak', () => {
  test('has six intervals in a short run and one an hour in a long one', () => {
    expect([makePlan(1_800).intervalSeconds, makePlan(24 * 3_600).intervalSeconds]).toEqual([300, 3_600])
  })

  test.each([120, 1_800, 24 * 3_600])(
    'restarts nothing while the memory of one process is judged, in %i s',
    (seconds) => {
      const { restartsAt, warmUntil, oneProcessUntil } = makePlan(seconds)
      expect(restartsAt).toHaveLength(4)
      expect(restartsAt.filter((at) => at >= warmUntil && at <= oneProcessUntil)).toEqual([])
      expect(restartsAt.every((at) => at > 0 && at < seconds)).toBe(true)
    },
  )

  test.each([120, 1_800, 24 * 3_600])('ends every fault before the run ends, in %i s', (seconds) => {
    const { faults, intervalSeconds } = makePlan(seconds)
    expect(faults).toHaveLength(2 * Math.floor(seconds / intervalSeconds))
    expect(faults.every(({ from, until }) => from < until && until < seconds)).toBe(true)
  })
})
