import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Plan, plans } from '../orgs/plans.ts'
import { dayOf, isReadablePeriod, monthOf, secondsToNextDay, secondsToNextMonth } from './periods.ts'
import {
  dedicatedIpLimit,
  emailPrice,
  mmsPrice,
  monthlyQuota,
  type Resource,
  resourceLimit,
  sandboxDaily,
  segmentPrice,
  testDaily,
} from './plan-limits.ts'

/** Converts a price in USD, such as "0.0083", to millionths. */
const usd = (text: string): number => Number(text.replace('.', '').replace(/^0+(?=\d)/, ''))

describe('plans', () => {
  test.each<[Plan, number | null, number | null, string, string]>([
    ['free', 3_000, 100, '0.000000', '0.000000'],
    ['payg', null, null, '0.000900', '0.008300'],
    ['pro', 100_000, 10_000, '0.000000', '0.007500'],
    ['enterprise', 2_000_000, 200_000, '0.000000', '0.006500'],
  ])(
    'XD-24 the %s plan allows %s email recipients and %s SMS per month, at %s and %s USD each',
    (plan, email, sms, mail, segment) => {
      expect(monthlyQuota[plan]).toEqual({ email, sms })
      expect(emailPrice[plan]).toBe(usd(mail))
      expect([segmentPrice(plan, 'US'), segmentPrice(plan, 'CA')]).toEqual([usd(segment), usd(segment)])
    },
  )

  test.each<[Resource, [free: number, payg: number, pro: number, enterprise: number]]>([
    ['API keys', [20, 50, 100, 1_000]],
    ['domains', [2, 10, 50, 1_000]],
    ['projects', [2, 10, 25, 250]],
    ['webhook endpoints', [3, 10, 25, 250]],
    ['tenants', [3, 100, 1_000, 100_000]],
    ['phone numbers', [2, 25, 100, 1_000]],
    ['messaging pools', [1, 5, 25, 250]],
    ['audiences', [3, 50, 500, 10_000]],
  ])('XD-25 %s: %j on free, payg, pro and enterprise', (resource, limits) => {
    expect(plans.map((plan) => resourceLimit[resource][plan])).toEqual(limits)
  })

  test('XD-25 XD-10 each plan has limits for dedicated IPs, daily test messages and daily sandbox recipients', () => {
    expect(plans.map((plan) => dedicatedIpLimit[plan])).toEqual([0, 0, 2, 50])
    expect(plans.map((plan) => testDaily[plan])).toEqual([1_000, 10_000, 10_000, 100_000])
    expect(sandboxDaily).toBe(100)
    expect(Object.keys(resourceLimit)).toHaveLength(8)
  })

  test.each([
    ['GB', '0.046300', '0.041670', '0.037040'],
    ['AU', '0.051500', '0.046350', '0.041200'],
    ['DE', '0.106000', '0.095400', '0.084800'],
    ['FR', '0.079800', '0.071820', '0.063840'],
    ['IN', '0.083200', '0.074880', '0.066560'],
    ['BR', '0.060000', '0.054000', '0.048000'],
    ['JP', '0.090000', '0.081000', '0.072000'],
    ['ZZ', '0.090000', '0.081000', '0.072000'],
  ])(
    'XD-27 a segment to %s costs %s USD on payg, %s on pro, %s on enterprise, and nothing on free',
    (country, payg, pro, enterprise) => {
      expect(plans.map((plan) => segmentPrice(plan, country))).toEqual([0, usd(payg), usd(pro), usd(enterprise)])
    },
  )

  test('R-41 an MMS has one price in the US and Canada and another elsewhere, less the discount of the plan', () => {
    for (const country of ['US', 'CA']) {
      expect(plans.map((plan) => mmsPrice(plan, country))).toEqual([0, 20_000, 18_000, 16_000])
    }
    for (const country of ['JM', 'GB', 'IN']) {
      expect(plans.map((plan) => mmsPrice(plan, country))).toEqual([0, 60_000, 54_000, 48_000])
    }
  })

  test('XD-27 every price is a whole number of millionths', () => {
    fc.assert(
      fc.property(fc.constantFrom(...plans), fc.string({ minLength: 2, maxLength: 2 }), (plan, country) => {
        expect(Number.isInteger(segmentPrice(plan, country))).toBe(true)
      }),
    )
  })
})

describe('periods', () => {
  test('are UTC calendar months and days', () => {
    expect([monthOf(new Date('2026-03-31T23:59:59.999Z')), dayOf(new Date('2026-03-31T23:59:59.999Z'))]).toEqual([
      '2026-03',
      '2026-03-31',
    ])
    expect(monthOf(new Date('2026-04-01T02:00:00+02:00'))).toBe('2026-04')
    expect(dayOf(new Date('2026-03-31T23:30:00-01:00'))).toBe('2026-04-01')
  })

  test.each([
    ['2026-03-31T23:59:59.999Z', 1, 1],
    ['2026-03-31T23:59:58.999Z', 2, 2],
    ['2026-03-31T00:00:00.000Z', 86_400, 86_400],
    ['2026-12-31T12:00:00.000Z', 43_200, 43_200],
    ['2026-02-01T00:00:00.000Z', 28 * 86_400, 86_400],
    ['2028-02-28T00:00:00.000Z', 2 * 86_400, 86_400],
    ['2026-12-01T00:00:00.001Z', 31 * 86_400, 86_400],
  ])('XD-24 XD-10 at %s the next month is %d and the next day %d whole seconds away', (at, month, day) => {
    expect([secondsToNextMonth(new Date(at)), secondsToNextDay(new Date(at))]).toEqual([month, day])
  })

  test('XD-23 only the current month and the 24 before it can be read', () => {
    const now = new Date('2026-01-31T23:59:59.999Z')
    const readable = ['2026-01', '2025-12', '2024-02', '2024-01']
    const not = ['2026-02', '2023-12', '2026-00', '2026-13', '2026-1', '26-01', '2026-01-01', '', 'x', '2026-01\n']
    for (const period of readable) expect(isReadablePeriod(period, now), period).toBe(true)
    for (const period of not) expect(isReadablePeriod(period, now), period).toBe(false)
  })
})
