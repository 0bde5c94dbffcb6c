import { createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeHmac, makeVault, randomBase62, sameBytes, toBase62 } from './crypto.ts'

test('a sealed secret opens only with the same key and context', () => {
  const vault = makeVault(randomBytes(32))
  const sealed = vault.seal('whsec_🔑', 'webhook_endpoints/whe_1')
  expect(sealed).not.toContain('whsec')
  expect(vault.open(sealed, 'webhook_endpoints/whe_1')).toBe('whsec_🔑')
  expect(() => vault.open(sealed, 'webhook_endpoints/whe_2')).toThrow()
  expect(() => makeVault(randomBytes(32)).open(sealed, 'webhook_endpoints/whe_1')).toThrow('not configured')
})

test('sealing the same secret twice gives different texts, and a modified text does not open', () => {
  const vault = makeVault(randomBytes(32))
  const a = vault.seal('x', 'c')
  const b = vault.seal('x', 'c')
  expect(a).not.toBe(b)
  const [head, id, iv, body = ''] = a.split('.')
  const flipped = `${body.slice(0, -2)}${body.at(-2) === 'A' ? 'B' : 'A'}${body.at(-1)}`
  expect(() => vault.open([head, id, iv, flipped].join('.'), 'c')).toThrow()
  expect(() => vault.open('v2.x.y.z', 'c')).toThrow('unknown format')
  expect(() => vault.open('', 'c')).toThrow('unknown format')
})

test('after a rotation, the previous key still opens old values and the new key seals new ones', () => {
  const old = randomBytes(32)
  const fresh = randomBytes(32)
  const sealed = makeVault(old).seal('secret', 'c')
  const rotated = makeVault(fresh, [old])
  expect(rotated.open(sealed, 'c')).toBe('secret')
  expect(makeVault(fresh).open(rotated.seal('secret', 'c'), 'c')).toBe('secret')
})

test('randomBase62 uses all characters equally often', () => {
  const counts = new Map<string, number>()
  for (const character of randomBase62(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1)
  expect(counts.size).toBe(62)
  // Six standard deviations. A biased draw (bytes modulo 62) would give the first eight characters about 23 % more.
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(190)
})

test('toBase62 pads numbers to a fixed width', () => {
  expect(toBase62(0, 6)).toBe('000000')
  expect(toBase62(61, 6)).toBe('00000z')
  expect(toBase62(0xffffffff, 6)).toBe('4gfFC3')
})

test('sameBytes compares values of equal and of different length', () => {
  expect(sameBytes('abc', 'abc')).toBe(true)
  expect(sameBytes('abc', 'abd')).toBe(false)
  expect(sameBytes('abc', 'abcd')).toBe(false)
})

test('makeHmac gives the same result as createHmac for any key and any sequence of texts', () => {
  const nodeHmac = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex')
  const texts = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 5_000, maxLength: 9_000 })))
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), texts, (key, all) => {
      const hmac = makeHmac(key)
      expect(all.map(hmac)).toEqual(all.map((text) => nodeHmac(key, text)))
    }),
  )
  // A key longer than a block of 64 bytes is replaced by its digest.
  for (const length of [0, 63, 64, 65]) {
    const key = 'k'.repeat(length)
    expect(makeHmac(key)('é'.repeat(3_000))).toBe(nodeHmac(key, 'é'.repeat(3_000)))
  }
})
