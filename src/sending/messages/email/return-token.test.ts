import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newId } from '../../../platform/ground/ids.ts'
import { makeReturnTokens, type ReturnRef } from './return-token.ts'

const masterKey = Buffer.alloc(32, 7)
const tokens = makeReturnTokens({ masterKey, previous: [] })
const ref: ReturnRef = { orgId: newId('org'), messageId: newId('message'), recipient: 0 }
const token = tokens.sign(ref) as string

test('A token is a local part of 64 lower-case characters, and reads as what it was signed for', () => {
  const ids = fc.nat({ max: 2 ** 41 })
  fc.assert(
    fc.property(ids, ids, fc.option(fc.nat({ max: 62 })), (orgTime, messageTime, recipient) => {
      const signed = { orgId: newId('org', orgTime), messageId: newId('message', messageTime), recipient }
      const text = tokens.sign(signed) as string
      expect(text).toMatch(/^b[0-9a-hjkmnp-tv-z]{63}$/)
      expect(tokens.read(text)).toEqual(signed)
    }),
  )
})

test('A token of a one-time code reads as its verification, and is not valid for a message with the same digits', () => {
  const code = { orgId: newId('org'), messageId: newId('verification'), recipient: 0 }
  const text = tokens.sign(code) as string
  expect(text).toMatch(/^v[0-9a-hjkmnp-tv-z]{63}$/)
  expect(tokens.read(text)).toEqual(code)
  expect(tokens.read(`b${text.slice(1)}`)).toBeUndefined()
  expect(tokens.read(`v${token.slice(1)}`)).toBeUndefined()
})

test('Every bit of an id is in its token', () => {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
  const digit = fc.integer({ min: 0, max: 31 })
  fc.assert(
    fc.property(fc.array(digit, { minLength: 26, maxLength: 26 }), (values) => {
      // The first two bits are zero, the version is 7 and the variant is 2.
      const fixed = values.map((value, at) => {
        if (at === 0) return value & 7
        if (at === 10) return (value & 1) | 14
        return at === 13 ? (value & 19) | 8 : value
      })
      const text = fixed.map((value) => alphabet[value]).join('')
      const signed = { orgId: `org_${text}`, messageId: `msg_${text}`, recipient: null }
      expect(tokens.read(tokens.sign(signed) as string)).toEqual(signed)
    }),
  )
})

test('A token survives a server that changes its case', () => {
  expect(tokens.read(token.toUpperCase())).toEqual(ref)
})

test('A token with any other character in any position is not read', () => {
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === '0' ? '1' : '0'
    expect(tokens.read(token.slice(0, at) + other + token.slice(at + 1))).toBeUndefined()
  }
})

test('A token of another key is not read, and one of a previous master key is', () => {
  const rotated = randomBytes(32)
  expect(makeReturnTokens({ masterKey: rotated, previous: [] }).read(token)).toBeUndefined()
  expect(makeReturnTokens({ masterKey: rotated, previous: [masterKey] }).read(token)).toEqual(ref)
})

test('Any other local part is not read, however long', () => {
  const others = ['', 'b', `${token}0`, token.slice(1), `x${token.slice(1)}`, 'postmaster', 'b'.repeat(1_000_000)]
  for (const other of others) expect(tokens.read(other)).toBeUndefined()
  fc.assert(fc.property(fc.string({ maxLength: 80 }), (other) => tokens.read(other) === undefined))
})

test('An id that this service did not make gets no token, because the token could not be read back', () => {
  expect(tokens.sign({ ...ref, messageId: 'msg_1' })).toBeUndefined()
  // A UUID of another version.
  expect(tokens.sign({ ...ref, messageId: `msg_${'0'.repeat(26)}` })).toBeUndefined()
})

test('A recipient beyond the field counts as several', () => {
  expect(tokens.read(tokens.sign({ ...ref, recipient: 63 }) as string)).toEqual({ ...ref, recipient: null })
})
