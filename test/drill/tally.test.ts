import { describe, expect, test } from 'vitest'
import { etcdApiFor } from './packages.ts'
import {
  type Acknowledged,
  failuresOf,
  longestGap,
  type Phase,
  type Refused,
  refusalsByCode,
  reportLines,
  tallyPhases,
  wrongAnswers,
} from './tally.ts'

const phase = (name: string, from: number, to: number): Phase => ({ name, from, to })
const acknowledged = (n: number, at: number, more: Partial<Acknowledged> = {}): Acknowledged => ({
  reference: `send-${n}`,
  id: `msg_${n}`,
  at,
  scheduled: false,
  ...more,
})
const handedOver = (n: number, at: number, id = `msg_${n}`) => ({ reference: `send-${n}`, id, at })
const noneMarked = new Set<string>()
const stored = (...numbers: number[]) => new Set(numbers.map((n) => `msg_${n}`))

describe('the longest time without an accepted send', () => {
  const at = [1_000, 9_000, 2_000, 4_000]

  test('is found between two sends, whatever their order', () => {
    expect(longestGap(at, phase('a fault', 0, 10_000))).toBe(5)
  })

  test('counts the time before the first and after the last send of a phase', () => {
    expect(longestGap(at, phase('a fault', 4_500, 9_500))).toBe(4.5)
    expect(longestGap(at, phase('a fault', 8_500, 12_000))).toBe(3)
  })

  test('is the whole phase when nothing was accepted in it', () => {
    expect(longestGap(at, phase('a fault', 20_000, 51_000))).toBe(31)
    expect(longestGap([], phase('a fault', 0, 31_000))).toBe(31)
  })
})

describe('an error', () => {
  const refused = (n: number, status: number, sentAt: number, at = sentAt + 100): Refused => ({
    reference: `send-${n}`,
    status,
    code: status === 503 ? 'UNAVAILABLE' : 'INTERNAL_ERROR',
    sentAt,
    at,
  })

  test('is counted by its status and code', () => {
    const all = [refused(1, 503, 0), refused(2, 500, 0), refused(3, 503, 0)]
    expect(refusalsByCode(all)).toEqual({ '503 UNAVAILABLE': 2, '500 INTERNAL_ERROR': 1 })
  })

  test('that is 503 is wrong if that request sent the message, and not if a repeat did', () => {
    const outcome = { acknowledged: [], handedOver: [handedOver(1, 50), handedOver(2, 5_000)] }
    expect(wrongAnswers([refused(1, 503, 0), refused(2, 503, 0)], outcome)).toEqual([
      'send-1 was sent, but its request was 503',
    ])
  })

  test('that is 500 is wrong only in the middle of an outage, and only if the message was not sent', () => {
    const outcome = {
      acknowledged: [acknowledged(1, 10_000), acknowledged(2, 40_000)],
      handedOver: [handedOver(5, 20_100)],
    }
    const all = [
      // Soon after the last send that was accepted, a change may have been in progress.
      refused(3, 500, 14_000),
      refused(4, 500, 20_000),
      refused(5, 500, 20_000),
      // The outage ended before it was answered.
      refused(6, 500, 39_000, 41_000),
    ]
    expect(wrongAnswers(all, outcome)).toEqual(['send-4 was not sent in an outage, but its request was 500'])
  })
})

describe('the tally', () => {
  const phases = [phase('first', 0, 1_000), phase('second', 1_000, 2_000)]

  test('counts each acknowledgement in the phase in which it was received', () => {
    const outcome = {
      acknowledged: [acknowledged(1, 0), acknowledged(2, 999), acknowledged(3, 1_000)],
      handedOver: [handedOver(1, 0), handedOver(2, 990), handedOver(3, 990)],
      storedAsSent: stored(1, 2, 3),
      marked: noneMarked,
    }
    const tallies = tallyPhases(phases, outcome)
    expect(tallies.map((tally) => [tally.name, tally.acknowledged])).toEqual([
      ['first', 2],
      ['second', 1],
    ])
    expect(failuresOf(tallies)).toEqual([])
  })

  test('a send that was acknowledged and not handed over, or not stored as sent, is lost', () => {
    const outcome = {
      acknowledged: [acknowledged(1, 100), acknowledged(2, 200), acknowledged(3, 1_200)],
      handedOver: [handedOver(1, 100), handedOver(3, 1_200)],
      storedAsSent: stored(1, 2),
      marked: noneMarked,
    }
    const tallies = tallyPhases(phases, outcome)
    expect(tallies.map(({ lost }) => lost)).toEqual([['send-2'], ['send-3']])
    expect(failuresOf(tallies)).toEqual([
      'first: send-2 was acknowledged and is lost',
      'second: send-3 was acknowledged and is lost',
    ])
  })

  test('a send without a response is neither acknowledged nor lost', () => {
    const outcome = {
      acknowledged: [],
      handedOver: [handedOver(1, 100)],
      storedAsSent: stored(1, 2),
      marked: noneMarked,
    }
    expect(tallyPhases(phases, outcome)[0]).toMatchObject({ acknowledged: 0, lost: [], sentTwice: [], unexplained: [] })
  })

  test('a message may be sent twice only under the same id, and only if its history says so', () => {
    const outcome = {
      acknowledged: [1, 2, 3].map((n) => acknowledged(n, n * 100)),
      handedOver: [
        ...[1, 2, 3].map((n) => handedOver(n, 400)),
        handedOver(1, 500),
        handedOver(2, 500),
        handedOver(3, 500, 'msg_9'),
      ],
      storedAsSent: stored(1, 2, 3),
      marked: new Set(['msg_1', 'msg_3', 'msg_9']),
    }
    const tallies = tallyPhases(phases, outcome)
    expect(tallies[0]).toMatchObject({ sentTwice: ['send-1'], unexplained: ['send-2', 'send-3'] })
    expect(failuresOf(tallies)).toEqual([
      'first: send-2 was sent as two messages, or again although it was recorded',
      'first: send-3 was sent as two messages, or again although it was recorded',
    ])
  })

  test('an outage of 30 seconds is a failure and a shorter one is not', () => {
    const outcome = { acknowledged: [], handedOver: [], storedAsSent: new Set<string>(), marked: noneMarked }
    const long = [phase('short', 0, 29_999), phase('long', 29_999, 59_999)]
    expect(failuresOf(tallyPhases(long, outcome))).toEqual(['long: no send was accepted for 30.0 s; the limit is 30 s'])
  })

  test('the report has a line for each phase and a total with the sums and the longest outage', () => {
    const tally = {
      name: 'kill',
      acknowledged: 40,
      lost: ['a'],
      sentTwice: ['b'],
      unexplained: ['c'],
      secondsWithout: 3,
    }
    const other = { ...tally, name: 'pause', acknowledged: 2, lost: [], unexplained: [], secondsWithout: 17.25 }
    const lines = reportLines([tally, other]).map((line) => line.split(/ {2,}/))
    expect(lines).toEqual([
      ['fault', 'acknowledged', 'lost', 'sent twice', 'seconds without an accepted send'],
      ['kill', '40', '1', '2', '3.0'],
      ['pause', '2', '0', '1', '17.3'],
      ['total', '42', '1', '3', '17.3'],
    ])
  })
})

test('Patroni before 3.0.3 uses version 2 of the API of etcd', () => {
  expect(['2.1.4', '3.0.2'].map(etcdApiFor)).toEqual(['etcd', 'etcd'])
  expect(['3.0.3', '3.1.0', '4.0.4'].map(etcdApiFor)).toEqual(['etcd3', 'etcd3', 'etcd3'])
})
