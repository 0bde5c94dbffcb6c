import { describe, expect, test } from 'vitest'
import { type Allowance, linesOf, makeLinesOfKind, type Spend, settledUsage } from './lines.ts'

const allowance: Allowance = {
  plan: 'pro',
  quota: { email: 1_000, sms: 100 },
  tenantQuota: { email: null, sms: null },
  spendCapMicros: 5_000,
}
const spend: Spend = {
  orgId: 'org_a',
  tenantId: null,
  environment: 'live',
  keyId: 'key_a',
  channel: 'sms',
  units: 1,
  segments: 2,
  costMicros: 7,
}
const at = new Date('2026-01-31T12:00:00Z')

describe('the lines of a kind of message', () => {
  test.each<[string, Spend, Allowance, Date]>([
    ['more units', { ...spend, units: 2 }, allowance, at],
    ['more segments', { ...spend, segments: 3 }, allowance, at],
    ['another cost', { ...spend, costMicros: 8 }, allowance, at],
    ['other caps', spend, { ...allowance, quota: { email: 1, sms: 1 } }, at],
    ['another day', spend, allowance, new Date('2026-02-01T00:00:00Z')],
    ['an earlier day', spend, allowance, new Date('2026-01-30T23:59:59Z')],
  ])('are computed again for %s', (_, otherSpend, otherAllowance, otherAt) => {
    const lines = makeLinesOfKind()
    const first = lines('kind', spend, allowance, at)
    expect(first).toEqual(linesOf(spend, allowance, at))
    expect(lines('kind', otherSpend, otherAllowance, otherAt)).toEqual(linesOf(otherSpend, otherAllowance, otherAt))
    expect(lines('kind', spend, allowance, at)).toEqual(first)
  })

  test('are the same object while nothing changes, for each kind its own', () => {
    const lines = makeLinesOfKind()
    const first = lines('kind', spend, allowance, at)
    const ofOther = lines('other', { ...spend, keyId: 'key_b' }, allowance, at)
    expect(lines('kind', { ...spend }, allowance, new Date(at.getTime() + 1_000))).toBe(first)
    expect(ofOther).toEqual(linesOf({ ...spend, keyId: 'key_b' }, allowance, at))
  })
})

test('settled usage adds up what messages drew, whether they share their lines or not', () => {
  const shared = linesOf(spend, allowance, at)
  const once = linesOf({ ...spend, units: 3 }, allowance, at)
  const { countedSubjects, countedMeasures, countedAmounts } = settledUsage([], [shared, once, shared])
  const counted = countedSubjects.map((subject, i) => [subject, countedMeasures[i], countedAmounts[i]])
  expect(counted).toEqual([
    ['key_a', 'segments', 6],
    ['key_a', 'sms', 5],
    ['key_a', 'spend', 21],
    ['org', 'segments', 6],
    ['org', 'sms', 5],
    ['org', 'spend', 21],
  ])
})
