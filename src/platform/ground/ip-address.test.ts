import { BlockList, isIP } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contains, countedNetworks, covers, formatRange, isLoopback, parseIp, parseRange } from './ip-address.ts'

const v4 = fc.ipV4()
const v6 = fc.ipV6().filter((text) => !text.includes('.') && isIP(text) === 6)

test('contains agrees with the BlockList of Node', () => {
  const cases = fc.oneof(
    fc.tuple(v4, fc.integer({ min: 0, max: 32 }), v4, fc.constant('ipv4' as const)),
    fc.tuple(v6, fc.integer({ min: 0, max: 128 }), v6, fc.constant('ipv6' as const)),
  )
  fc.assert(
    fc.property(cases, fc.boolean(), ([base, bits, other, family], near) => {
      const range = parseRange(`${base}/${bits}`)
      const reference = new BlockList()
      reference.addSubnet(base, bits, family)
      // Random addresses rarely share a prefix, so half of the cases check the base address itself.
      const checked = near ? base : other
      const parsed = parseIp(checked)
      if (!range || !parsed) throw new Error('the generated address is invalid')
      if (parsed.kind() === family) expect(contains(range, parsed)).toBe(reference.check(checked, family))
    }),
    { numRuns: 500 },
  )
})

test('covers is true only when the outer range contains all of the inner one', () => {
  expect(covers(parseRange('10.0.0.0/16')!, parseRange('10.0.1.0/24')!)).toBe(true)
  expect(covers(parseRange('10.0.1.0/24')!, parseRange('10.0.0.0/16')!)).toBe(false)
  expect(covers(parseRange('10.0.0.0/8')!, parseRange('100.0.0.0/8')!)).toBe(false)
  expect(covers(parseRange('2001:db8::/32')!, parseRange('2001:db8:1::/48')!)).toBe(true)
  expect(covers(parseRange('0.0.0.0/0')!, parseRange('::/0')!)).toBe(false)
})

test('IPv4-mapped IPv6 addresses and ranges are converted to IPv4', () => {
  expect(parseIp('::ffff:203.0.113.9')?.toString()).toBe('203.0.113.9')
  expect(formatRange(parseRange('::ffff:203.0.113.0/120')!)).toBe('203.0.113.0/24')
  expect(contains(parseRange('203.0.113.0/24')!, parseIp('::ffff:203.0.113.77')!)).toBe(true)
})

test('a single address is a range of one, and bits after the prefix are set to zero', () => {
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
])('%j is not a range', (text) => {
  expect(parseRange(text)).toBe(undefined)
})

test('isLoopback recognises IPv4, IPv6 and IPv4-mapped addresses', () => {
  for (const text of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) expect(isLoopback(text), text).toBe(true)
  for (const text of ['128.0.0.1', '::2', '10.0.0.1', 'localhost', '', undefined]) expect(isLoopback(text)).toBe(false)
})

test.each([
  ['203.0.113.9', ['203.0.113.9 x1']],
  ['::ffff:203.0.113.9', ['203.0.113.9 x1']],
  ['2001:db8:1:2:3:4:5:6', ['2001:db8:1:2::/64 x1', '2001:db8:1::/48 x10']],
  ['2001:DB8:1:2::', ['2001:db8:1:2::/64 x1', '2001:db8:1::/48 x10']],
  ['::1', ['::/64 x1', '::/48 x10']],
  [null, ['unknown x1']],
])('R-56 limits count %s in its networks', (address, networks) => {
  expect(countedNetworks(address).map(({ name, times }) => `${name} x${times}`)).toEqual(networks)
})
