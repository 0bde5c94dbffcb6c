import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newId } from '../../platform/ground/ids.ts'
import { makeTokens, type Tokens } from './tokens.ts'

const masterKey = Buffer.alloc(32, 'a')
const tokens = makeTokens({ masterKey, previous: [] })
const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']

const instants = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const ids = (kind: 'org' | 'message' | 'tenant') =>
  fc
    .tuple(instants, fc.array(fc.constantFrom(...'0123456789abcdefghjkmnpqrstvwxyz'), { minLength: 25, maxLength: 25 }))
    .map(([n, digits]) => `${newId(kind).slice(0, 4)}${n % 8}${digits.join('')}`)
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }).filter((value) => value.isWellFormed())

const message = fc.record({ orgId: ids('org'), messageId: ids('message') })
const click = fc.record({ orgId: ids('org'), messageId: ids('message'), url: text })
const unsubscribe = fc.record({
  orgId: ids('org'),
  tenantId: fc.option(ids('tenant')),
  environment: fc.constantFrom('live' as const, 'test' as const),
  address: text,
  messageId: fc.option(ids('message')),
})

type Signed = { kind: keyof Tokens; token: string }
const signed: fc.Arbitrary<Signed> = fc.oneof(
  message.map((ref) => ({ kind: 'open' as const, token: tokens.open.sign(ref) })),
  click.map((ref) => ({ kind: 'click' as const, token: tokens.click.sign(ref) })),
  unsubscribe.map((ref) => ({ kind: 'unsubscribe' as const, token: tokens.unsubscribe.sign(ref) })),
)

describe('tokens', () => {
  test('return the signed data and contain only characters that a URL path allows', () => {
    fc.assert(
      fc.property(message, click, unsubscribe, (opened, clicked, unsubscribed) => {
        expect(tokens.open.read(tokens.open.sign(opened))).toEqual(opened)
        expect(tokens.click.read(tokens.click.sign(clicked))).toEqual(clicked)
        expect(tokens.unsubscribe.read(tokens.unsubscribe.sign(unsubscribed))).toEqual(unsubscribed)
        expect(tokens.click.sign(clicked)).toMatch(/^[\w-]+$/)
      }),
    )
  })

  test('are short: 64 characters for a pixel, and a little more than the URL for a link', () => {
    const ref = { orgId: newId('org'), messageId: newId('message') }
    expect(tokens.open.sign(ref)).toHaveLength(64)
    expect(tokens.click.sign({ ...ref, url: 'https://example.com/' })).toHaveLength(91)
    const unsubscribeRef = {
      ...ref,
      tenantId: newId('tenant'),
      environment: 'live' as const,
      address: 'ann@example.com',
    }
    expect(tokens.unsubscribe.sign(unsubscribeRef)).toHaveLength(107)
  })

  test('S-423 SD-111 with one changed character are invalid', () => {
    fc.assert(
      fc.property(signed, fc.nat(), ({ kind, token }, seed) => {
        expect(tokens[kind].read(token)).toBeDefined()
        const at = seed % token.length
        for (const character of [...alphabet, '=', '+', '/', ' ', '.', 'é', '\0']) {
          if (character === token[at]) continue
          expect(tokens[kind].read(token.slice(0, at) + character + token.slice(at + 1))).toBeUndefined()
        }
      }),
      { numRuns: 200 },
    )
    // Every position of one token, including the last one with its spare bits.
    const token = tokens.unsubscribe.sign({
      orgId: newId('org'),
      tenantId: null,
      environment: 'live',
      address: 'ann@example.com',
      messageId: null,
    })
    for (let at = 0; at < token.length; at++) {
      for (const character of alphabet) {
        if (character === token[at]) continue
        expect(tokens.unsubscribe.read(token.slice(0, at) + character + token.slice(at + 1))).toBeUndefined()
      }
    }
  })

  test('S-423 that are truncated, extended, random or of another kind are invalid and never throw', () => {
    fc.assert(
      fc.property(signed, fc.nat(), fc.string({ minLength: 1, unit: 'binary' }), ({ kind, token }, seed, more) => {
        expect(tokens[kind].read(token.slice(0, seed % token.length))).toBeUndefined()
        expect(tokens[kind].read(token.slice(1 + (seed % token.length)))).toBeUndefined()
        expect(tokens[kind].read(token + more)).toBeUndefined()
        expect(tokens[kind].read(more + token)).toBeUndefined()
        for (const other of ['open', 'click', 'unsubscribe'] as const) {
          expect(tokens[other].read(more)).toBeUndefined()
          if (other !== kind) expect(tokens[other].read(token)).toBeUndefined()
        }
      }),
    )
    for (const token of ['', '=', 'A'.repeat(22), 'A'.repeat(1_000_000), '\u{1f600}'.repeat(64)]) {
      expect(tokens.open.read(token)).toBeUndefined()
    }
  })

  test('stay valid after a change of the master key while the previous one is configured', () => {
    const ref = { orgId: newId('org'), messageId: newId('message') }
    const token = tokens.open.sign(ref)
    const next = Buffer.alloc(32, 'b')
    const rotated = makeTokens({ masterKey: next, previous: [Buffer.alloc(32, 'c'), masterKey] })
    expect(rotated.open.read(token)).toEqual(ref)
    expect(tokens.open.read(rotated.open.sign(ref))).toBeUndefined()
    expect(makeTokens({ masterKey: next, previous: [] }).open.read(token)).toBeUndefined()
  })

  test('cannot be signed for invalid ids', () => {
    expect(() => tokens.open.sign({ orgId: 'org_1', messageId: newId('message') })).toThrow(/org/)
    expect(() => tokens.open.sign({ orgId: newId('org'), messageId: newId('tenant') })).toThrow(/message/)
  })
})
