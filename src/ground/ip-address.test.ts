import { BlockList, isIP } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contains, covers, formatRange, isLoopback, parseIp, parseRange } from './ip-address.ts'

const v4 = fc.ipV4()
const v6 = fc.ipV6().filter((text) => !text.includes('.') && isIP(text) === 6)

test('membership of an address in a range agrees with a reference implementation', () => {
  const cases = fc.oneof(
    fc.tuple(v4, fc.integer({ min: 0, max: 32 }), v4, fc.constant('ipv4' as const)),
    fc.tuple(v6, fc.integer({ min: 0, max: 128 }), v6, fc.constant('ipv6' as const)),
  )
  fc.assert(
    fc.property(cases, fc.boolean(), ([base, bits, other, family], near) => {
      const range = parseRange(`${base}/${bits}`)
      const reference = new BlockList()
      reference.addSubnet(base, bits, family)
      // Random addresses rarely share a prefix, so half of the time the base itself is asked for.
      const asked = near ? base : other
      const parsed = parseIp(asked)
      if (!range || !parsed) throw new Error('unreadable')
      if (parsed.kind() === family) expect(contains(range, parsed)).toBe(reference.check(asked, family))
    }),
    { numRuns: 500 },
  )
})

test('a range lies inside another exactly when its first and last address and its width say so', () => {
  expect(covers(parseRange('10.0.0.0/16')!, parseRange('10.0.1.0/24')!)).toBe(true)
  expect(covers(parseRange('10.0.1.0/24')!, parseRange('10.0.0.0/16')!)).toBe(false)
  expect(covers(parseRange('10.0.0.0/8')!, parseRange('100.0.0.0/8')!)).toBe(false)
  expect(covers(parseRange('2001:db8::/32')!, parseRange('2001:db8:1::/48')!)).toBe(true)
  expect(covers(parseRange('0.0.0.0/0')!, parseRange('::/0')!)).toBe(false)
})

test('IPv4-mapped IPv6 counts as IPv4, in addresses and in ranges', () => {
  expect(parseIp('::ffff:203.0.113.9')?.toString()).toBe('203.0.113.9')
  expect(formatRange(parseRange('::ffff:203.0.113.0/120')!)).toBe('203.0.113.0/24')
  expect(contains(parseRange('203.0.113.0/24')!, parseIp('::ffff:203.0.113.77')!)).toBe(true)
})

test('a bare address is a range of one, and the host part of a range is cut off', () => {
  expect(formatRange(parseRange('203.0.113.9')!)).toBe('203.0.113.9/32')
  expect(formatRange(parseRange('2001:db8::1')!)).toBe('2001:db8::1/128')
  expect(formatRange(parseRange('203.0.113.9/24')!)).toBe('203.0.113.0/24')
})

test.each([
  '',
  '/',
  '10.0.0.0/',
  '10.0.0.0/33',
  '::/129',
  '10.0.0/8',
  '010.0.0.1',
  '0x7f.1',
  '1',
  'a.b.c.d',
  '10.0.0.1/8/8',
  '10.0.0.0/-1',
  '10.0.0.0/8.5',
  'fe80::1%eth0',
  '::ffff:1.2.3.4/64',
])('%j is no range', (text) => {
  expect(parseRange(text)).toBe(undefined)
})

test('loopback is recognised in both families and in mapped form', () => {
  for (const text of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) expect(isLoopback(text), text).toBe(true)
  for (const text of ['128.0.0.1', '::2', '10.0.0.1', 'localhost', '', undefined]) expect(isLoopback(text)).toBe(false)
})
