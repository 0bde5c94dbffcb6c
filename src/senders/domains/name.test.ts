import { expect, test } from 'vitest'
import { isReserved, longestName, lookupName, normaliseName } from './name.ts'

test.for([
  ['example.com', 'example.com'],
  ['  Example.COM. ', 'example.com'],
  ['mail.Example.co.uk', 'mail.example.co.uk'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['BÜCHER.example', 'xn--bcher-kva.example'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
  ['shop.test', 'shop.test'],
  ['github.io', 'github.io'],
  ['a-1.example', 'a-1.example'],
] as const)('XD-19 %s is normalised to %s', ([text, name]) => {
  expect(normaliseName(text)).toBe(name)
})

test.for([
  '',
  ' ',
  '.',
  '..',
  'com',
  'co.uk',
  'test',
  'localhost',
  'uk.',
  'example',
  'www..com',
  '.example.com',
  'ann@example.com',
  'http://example.com',
  'example.com/x',
  'example.com:25',
  'exam%70le.com',
  'a b.com',
  '192.0.2.1',
  '192.0.2.1.',
  '0x7f.1',
  '1.2.3',
  '[::1]',
  '::1',
  '2001:db8::1',
  '3221225985',
  '-a.com',
  'a-.com',
  'a_b.com',
  '*.example.com',
  `${'a'.repeat(64)}.com`,
  'xn--.com',
  'a\u0000.com',
  `${'a'.repeat(60)}.`.repeat(4).concat('com'),
])('XD-19 %j is not a domain that somebody can own', (text) => {
  expect(normaliseName(text)).toBeUndefined()
})

test('XD-19 a name may be as long as the names of its records allow', () => {
  const of = (length: number) => `${'a'.repeat(63)}.`.repeat(3).concat('b'.repeat(length - 192 - 4), '.com')
  expect(normaliseName(of(longestName))).toHaveLength(longestName)
  expect(normaliseName(of(longestName + 1))).toBeUndefined()
})

test('X-313 the domain of the service and its subdomains are reserved', () => {
  const own = 'Mail.Tidings.example'
  for (const name of ['mail.tidings.example', 'a.mail.tidings.example', 'acme.sandbox.mail.tidings.example']) {
    expect(isReserved(name, own), name).toBe(true)
  }
  for (const name of ['tidings.example', 'xmail.tidings.example', 'mail.tidings.example.com']) {
    expect(isReserved(name, own), name).toBe(false)
  }
})

test('the domain of a from address is normalised like a stored name, and an invalid one matches nothing', () => {
  expect(lookupName('Example.TEST')).toBe('example.test')
  expect(lookupName('example.test.')).toBe('example.test')
  expect(lookupName('bücher.example')).toBe('xn--bcher-kva.example')
  for (const invalid of ['', 'a b', 'exam%70le.test', 'x@example.test', '\u0000']) {
    expect(lookupName(invalid)).not.toBe('example.test')
  }
})
