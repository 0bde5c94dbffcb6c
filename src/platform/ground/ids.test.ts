import { expect, test } from 'vitest'
import { derivedId, isId, newId, prefixes, timeOfId } from './ids.ts'

test('S-006 an id is the prefix of its kind and 26 characters of lower-case Crockford base32', () => {
  expect(prefixes).toMatchObject({
    message: 'msg',
    verification: 'ver',
    job: 'job',
    template: 'tpl',
    dltTemplate: 'dlt',
    suppression: 'sup',
    inboundSms: 'ism',
    brand: 'brd',
    campaign: 'cmp',
    contact: 'con',
    audience: 'aud',
  })
  for (const [kind, prefix] of Object.entries(prefixes)) {
    const id = newId(kind as keyof typeof prefixes)
    expect(id).toMatch(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`))
    expect(isId(kind as keyof typeof prefixes, id)).toBe(true)
  }
})

test('S-006 new contacts get con_ ids, and ctc_ ids are accepted too', () => {
  const id = newId('contact')
  expect(isId('contact', id.replace('con_', 'ctc_'))).toBe(true)
  expect(isId('message', id.replace('con_', 'ctc_'))).toBe(false)
})

/** Decodes the 26 characters to the 128 bits of the UUID. */
const bitsOf = (id: string): bigint => {
  const digits = '0123456789abcdefghjkmnpqrstvwxyz'
  return [...id.slice(4)].reduce((bits, digit) => bits * 32n + BigInt(digits.indexOf(digit)), 0n)
}

test('an id is a UUIDv7 with the time it was made at', () => {
  const ms = Date.UTC(2100, 0, 1, 12, 30, 15, 123)
  const bits = bitsOf(newId('message', ms))
  expect(Number(bits >> 80n)).toBe(ms)
  expect((bits >> 76n) & 0xfn).toBe(7n)
  expect((bits >> 62n) & 0x3n).toBe(2n)
})

test('ids of one process are ordered and unique, within a millisecond and when the clock steps back', () => {
  const made: string[] = []
  const start = Date.UTC(2101, 0, 1)
  for (let i = 0; i < 10_000; i++) made.push(newId('message', start))
  for (let i = 0; i < 100; i++) made.push(newId('message', start - 5_000))
  for (let i = 0; i < 100; i++) made.push(newId('message', start + i))
  expect(new Set(made).size).toBe(made.length)
  expect([...made].sort()).toEqual(made)
})

test.each([
  'sup_',
  'sup',
  '',
  'sup_01m7ekszz4e8brbwp01pb7h1d',
  'sup_01m7ekszz4e8brbwp01pb7h1dpp',
  'SUP_01m7ekszz4e8brbwp01pb7h1dp',
  'sup_01M7EKSZZ4E8BRBWP01PB7H1DP',
  'msg_01m7ekszz4e8brbwp01pb7h1dp',
  'sup_81m7ekszz4e8brbwp01pb7h1dp',
  'sup_01m7ekszz4e8brbwp01pb7h1di',
  'sup_01m7ekszz4e8brbwp01pb7h1dp\n',
])('%j is not the id of a suppression', (text) => {
  expect(isId('suppression', text)).toBe(false)
})

test('ids keep their order when the clock steps back a little, and follow it when it steps back further', () => {
  const now = Date.now() + 1_000_000
  const first = newId('message', now)
  const second = newId('message', now - 5_000)
  expect(second > first).toBe(true)
  expect(timeOfId(second)).toBe(now)
  const corrected = newId('message', now - 60_000)
  expect(timeOfId(corrected)).toBe(now - 60_000)
})

test('timeOfId returns the time at which an id was made, and NaN for any other text', () => {
  const at = Date.now() + 2_000_000
  expect(timeOfId(newId('message', at))).toBe(at)
  for (const text of ['', 'msg_', 'msg_ILOU', '!'.repeat(30)]) expect(timeOfId(text)).toBeNaN()
})

test('ids that are derived from another one are distinct, in order, of its time, and always the same', () => {
  const from = newId('request', 1_700_000_000_000)
  const ids = Array.from({ length: 1_000 }, (_, n) => derivedId('message', from, n))
  expect(ids[0]).toBe(from.replace('req_', 'msg_'))
  expect(new Set(ids).size).toBe(1_000)
  expect(ids.every((id) => isId('message', id) && timeOfId(id) === 1_700_000_000_000)).toBe(true)
  expect(derivedId('message', from, 7)).toBe(ids[7])
  expect(derivedId('message', 'req_0000000000000000000000003z', 1)).toBe('msg_00000000000000000000000040')
  expect(derivedId('message', `req_${'0'.repeat(20)}zzzzzz`, 1)).toBe(`msg_${'0'.repeat(26)}`)
})
