import { describe, expect, test } from 'vitest'
import type { Outcome } from './clients.ts'
import { judge, type Stored, type StoredMessage } from './judge.ts'
import type { Way } from './operations.ts'
import type { Arrival } from './sinks.ts'

type Given = Parameters<typeof judge>[0]

const outcomeOf = (way: Way, recipients: string[], body: unknown, more: Partial<Outcome> = {}): Outcome => ({
  operation: { way, path: '', body: {}, key: 'key', recipients },
  result: 'acknowledged',
  status: 200,
  body,
  attempts: 1,
  tookMs: 10,
  ...more,
})
const arrival = (recipient: string, id: string, code?: string): Arrival => ({ recipient, id, code, at: 0 })
const message = (id: string, to: string, more: Partial<StoredMessage> = {}): StoredMessage => ({
  id,
  channel: 'email',
  status: 'sent',
  job_id: null,
  to_addresses: [to],
  details: [null],
  ...more,
})
const mark = 'An earlier attempt was interrupted, so the provider may have received this message twice.'

/** A single email, a batch of two and a code, all as they should be. */
const faultless = (): Given => {
  const stored: Stored = {
    messages: [message('m1', 'a'), message('m2', 'b'), message('m3', 'c')],
    jobs: [],
    verifications: [{ id: 'v1', channel: 'sms', destination: '+1' }],
    entries: [
      { action: 'message.sent', resource_id: 'm1', count: 1 },
      { action: 'message.sent', resource_id: null, count: 2 },
    ],
    sentEvents: ['m1', 'm2', 'm3'].map((id) => ({ id: `event of ${id}`, message_id: id })),
    used: { email: 3, sms: 1 },
    openReservations: 0,
  }
  const items = [
    { id: 'm2', status: 'sent', error: null },
    { id: 'm3', status: 'sent', error: null },
  ]
  return {
    outcomes: [
      outcomeOf('email', ['a'], { id: 'm1' }),
      outcomeOf('email batch', ['b', 'c'], { data: items }),
      outcomeOf('code', ['+1'], { id: 'v1' }),
    ],
    arrivals: [arrival('a', 'm1'), arrival('b', 'm2'), arrival('c', 'm3'), arrival('+1', 'v1', '123456')],
    delivered: new Map(stored.sentEvents.map(({ id }) => [id, 1])),
    stored,
  }
}

const faultsOf = (change: (given: Given) => void): string[] => {
  const given = faultless()
  change(given)
  return judge(given).faults
}

test('a run in which everything agrees has no fault', () => {
  expect(judge(faultless())).toMatchObject({
    faults: [],
    acknowledged: { email: { operations: 1, repeated: 0 }, 'email batch': { operations: 1, repeated: 0 } },
    handedOverAgain: {},
    auditedMessages: 3,
  })
})

describe('a handover that is repeated', () => {
  test('under the same id of a message that says so is counted, and is no fault', () => {
    const given = faultless()
    given.arrivals.push(arrival('b', 'm2'), arrival('+1', 'v1', '123456'))
    given.stored.messages[1] = message('m2', 'b', { details: [mark] })
    expect(judge(given)).toMatchObject({ faults: [], handedOverAgain: { 'email batch': 1, code: 1 } })
  })

  test('of a message that had been recorded is a fault', () => {
    expect(faultsOf(({ arrivals }) => arrivals.push(arrival('b', 'm2')))).toEqual([
      'email batch: m2 was handed over 2 times although it had been recorded',
    ])
  })

  test('under another id is a fault', () => {
    expect(faultsOf(({ arrivals }) => arrivals.push(arrival('a', 'm9')))).toEqual([
      'email: a recipient got 2 messages under one key: m1,m9',
    ])
  })

  test('with another code is a fault', () => {
    expect(faultsOf(({ arrivals }) => arrivals.push(arrival('+1', 'v1', '654321')))).toEqual([
      'code: a recipient got 2 different codes under one key',
    ])
  })
})

const faults: [string, (given: Given) => void, string[]][] = [
  [
    'an acknowledged message that is not stored',
    ({ stored }) => {
      stored.messages = stored.messages.slice(1)
      stored.entries = stored.entries.slice(1)
      stored.sentEvents = stored.sentEvents.slice(1)
      stored.used.email = 2
    },
    ['lost: email m1 was acknowledged and is not stored'],
  ],
  [
    'an acknowledged message that never reached a provider',
    ({ arrivals }) => arrivals.shift(),
    ['email: acknowledged and never reached a provider'],
  ],
  [
    'an item of a batch that never reached a provider',
    ({ arrivals }) => arrivals.splice(1, 1),
    ['email batch: an item that was sent never reached a provider'],
  ],
  [
    'an item that left and was called safe to try again',
    ({ outcomes }) => {
      const error = { code: 'PROVIDER_ERROR', message: 'Not sent. It is safe to try again.' }
      outcomes[1]!.body.data[0] = { id: null, status: 'failed', error }
    },
    ['email batch: an item that reached a provider was called safe to try again'],
  ],
  [
    'messages of a batch without an audit entry',
    ({ stored }) => stored.entries.pop(),
    ['audit: 2 messages of batches are stored and 0 are covered'],
  ],
  ['a message without an audit entry', ({ stored }) => stored.entries.shift(), ['audit: m1 has 0 entries']],
  [
    'usage that was counted and not used',
    ({ stored }) => {
      stored.used.email = 8
    },
    ['usage: 3 email messages and 0 codes were sent, and 8 are counted'],
  ],
  [
    'a reservation that is open',
    ({ stored }) => {
      stored.openReservations = 1
    },
    ['usage: 1 reservations are open'],
  ],
  [
    'an event that was stored twice',
    ({ stored }) => stored.sentEvents.push({ id: 'event of m1', message_id: 'm1' }),
    ['events: m1 is sent and has 2 message.sent events'],
  ],
  [
    'an event that never arrived',
    (given) => {
      given.delivered = new Map([...given.delivered].slice(1))
    },
    ['webhooks: the event event of m1 never arrived'],
  ],
  [
    'a code that no client knows of',
    ({ stored }) => {
      stored.verifications.push({ id: 'v2', channel: 'sms', destination: '+2' })
      stored.used.sms = 2
    },
    ['codes: 1 are stored that no client knows of'],
  ],
  [
    'a request without a result',
    ({ outcomes }) =>
      outcomes.push(outcomeOf('sms', ['+9'], undefined, { result: 'unfinished', status: 409, attempts: 9 })),
    ['sms: no result after 9 requests, the last one 409'],
  ],
  [
    'a request that was refused',
    ({ outcomes }) =>
      outcomes.push(outcomeOf('sms', ['+9'], { error: { code: 'NOT_FOUND' } }, { result: 'refused', status: 404 })),
    ['sms: refused with 404 {"code":"NOT_FOUND"}'],
  ],
  [
    'a job without an audit entry',
    ({ stored }) => {
      stored.jobs.push({ id: 'j1' })
    },
    ['audit: 1 jobs and 0 entries about them'],
  ],
  [
    'a blast with two jobs',
    ({ outcomes, stored }) => {
      outcomes.push(outcomeOf('blast', ['x', 'y'], { job_id: 'j1' }))
      stored.messages.push(message('m8', 'x', { job_id: 'j1' }), message('m9', 'y', { job_id: 'j2' }))
      stored.sentEvents.push({ id: 'event of m1', message_id: 'm8' }, { id: 'event of m1', message_id: 'm9' })
      stored.jobs.push({ id: 'j1' }, { id: 'j2' })
      stored.entries.push(...['j1', 'j2'].map((id) => ({ action: 'audience.sent', resource_id: id, count: 1 })))
      stored.used.email = 5
    },
    ['blast: 2 jobs under one key'],
  ],
]

test.each(faults)('%s is a fault', (_, change, expected) => {
  expect(faultsOf(change)).toEqual(expected)
})
