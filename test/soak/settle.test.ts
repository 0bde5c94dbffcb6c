import { expect, test } from 'vitest'
import type { Way } from './journal.ts'
import { findLosses } from './settle.ts'

const acknowledged = new Map<string, Way>([
  ['a', 'single'],
  ['b', 'sms'],
  ['c', 'scheduled'],
])
const statuses = new Map([
  ['a', 'sent'],
  ['b', 'delivered'],
  ['c', 'sent'],
])
const arrived = new Map([
  ['a', 1],
  ['c', 1],
])
const announced = new Set(['a', 'b', 'c'])
const nothing = { acknowledged: { single: 1, sms: 1, scheduled: 1 }, lost: [], sentTwice: [], unannounced: [] }

test('nothing is lost if every message was sent, arrived and was announced', () => {
  expect(findLosses(acknowledged, statuses, arrived, announced)).toEqual(nothing)
})

test.each([
  ['is missing', new Map([...statuses].filter(([id]) => id !== 'a')), 'single a is missing'],
  ['has failed', new Map([...statuses, ['a', 'failed']]), 'single a is failed'],
  ['is still scheduled', new Map([...statuses, ['c', 'scheduled']]), 'scheduled c is scheduled'],
])('a message that %s is lost', (_, found, line) => {
  expect(findLosses(acknowledged, found, arrived, announced)).toEqual({ ...nothing, lost: [line] })
})

test('an email that never reached the relay is lost', () => {
  const lost = ['scheduled c is sent and never reached the relay']
  expect(findLosses(acknowledged, statuses, new Map([['a', 1]]), announced)).toEqual({ ...nothing, lost })
})

test('an email that arrived twice and one without its event are reported', () => {
  const twice = new Map([...arrived, ['a', 2] as const])
  expect(findLosses(acknowledged, statuses, twice, new Set(['a', 'b']))).toEqual({
    ...nothing,
    sentTwice: ['single a'],
    unannounced: ['scheduled c'],
  })
})
