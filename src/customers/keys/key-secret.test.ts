import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isKeyShaped, mintKey } from './key-secret.ts'

test('X-006 the prefix of a key contains its environment', () => {
  expect(mintKey('live').key).toMatch(/^svc_live_[0-9A-Za-z]{38}$/)
  expect(mintKey('test').key).toMatch(/^svc_test_[0-9A-Za-z]{38}$/)
})

test('a key has 47 characters, and its hash, prefix and last four characters are stored', () => {
  const { key, hash, prefix, lastFour } = mintKey('live')
  expect(key).toHaveLength(47)
  expect(hash).toEqual(createHash('sha256').update(key).digest())
  expect(prefix).toBe(key.slice(0, 13))
  expect(lastFour).toBe(key.slice(-4))
})

test('the last six characters of a key are the CRC-32 of the others in base62', () => {
  const head = 'svc_live_00000000000000000000000000000000'
  expect(isKeyShaped(`${head}${expectedChecksum(head)}`)).toBe(true)
})

/** CRC-32 (IEEE, reflected) computed bit by bit, to compare with the library. */
const expectedChecksum = (text: string): string => {
  let crc = 0xffffffff
  for (const byte of Buffer.from(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  let rest = (crc ^ 0xffffffff) >>> 0
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let out = ''
  for (let i = 0; i < 6; i++) {
    out = digits[rest % 62] + out
    rest = Math.floor(rest / 62)
  }
  return out
}

test('a key with one changed character is rejected', () => {
  const { key } = mintKey('test')
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 46 }), fc.constantFrom(...'0aZ_-! é'), (at, other) => {
      fc.pre(key[at] !== other)
      expect(isKeyShaped(key.slice(0, at) + other + key.slice(at + 1))).toBe(false)
    }),
  )
})
