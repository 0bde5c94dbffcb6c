import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, hashCanonical } from './canonical.ts'
import { sha256 } from './crypto.ts'

test('SD-06 The hash of a value in pieces equals the hash of its whole canonical text', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ stringUnit: 'binary' }), fc.string(), async (value, prefix) => {
      expect(await hashCanonical(prefix, value)).toEqual(sha256(prefix + canonicalJson(value)))
    }),
  )
})

test('SD-06 The order of keys does not change the hash', async () => {
  const [one, two] = [
    { a: [1, { b: 1, c: 2 }], d: 1 },
    { d: 1, a: [1, { c: 2, b: 1 }] },
  ]
  expect(await hashCanonical('', one)).toEqual(await hashCanonical('', two))
})

test('a flat object has its keys in order, whatever they are', () => {
  const value = fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null))
  const key = fc.oneof(fc.string(), fc.nat({ max: 20 }).map(String), fc.constant('__proto__'))
  fc.assert(
    fc.property(fc.array(fc.tuple(key, value)), (entries) => {
      const record = Object.fromEntries(entries)
      const parts = Object.keys(record)
        .sort()
        .map((name) => `${JSON.stringify(name)}:${JSON.stringify(record[name])}`)
      expect(canonicalJson(record)).toBe(`{${parts.join(',')}}`)
    }),
  )
})
