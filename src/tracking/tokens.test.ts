import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newId } from '../ground/ids.ts'
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
  test('read back what was signed, in characters a path takes as they are', () => {
    fc.assert(
      fc.property(message, click, unsubscribe, (opened, clicked, left) => {
        expect(tokens.open.read(tokens.open.sign(opened))).toEqual(opened)
        expect(tokens.click.read(tokens.click.sign(clicked))).toEqual(clicked)
        expect(tokens.unsubscribe.read(tokens.unsubscribe.sign(left))).toEqual(left)
        expect(tokens.click.sign(clicked)).toMatch(/^[\w-]+$/)
      }),
    )
  })

  test('are short: a pixel takes 64 characters, a link its own length and a little', () => {
    const ref = { orgId: newId('org'), messageId: newId('message') }
    expect(tokens.open.sign(ref)).toHaveLength(64)
    expect(tokens.click.sign({ ...ref, url: 'https://example.com/' })).toHaveLength(91)
    const whole = {
      ...ref,
      tenantId: newId('tenant'),
      environment: 'live' as const,
      address: 'ann@example.com',
    }
    expect(tokens.unsubscribe.sign(whole)).toHaveLength(107)
  })

  test('S-423 SD-111 with any one character changed read as nothing', () => {
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
    // Every place of one token, the last with its spare bits among them.
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

  test('S-423 cut off, extended, of another kind or of nobody read as nothing, and never throw', () => {
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

  test('outlive a change of the master key while the former one is configured', () => {
    const ref = { orgId: newId('org'), messageId: newId('message') }
    const token = tokens.open.sign(ref)
    const next = Buffer.alloc(32, 'b')
    const rolled = makeTokens({ masterKey: next, previous: [Buffer.alloc(32, 'c'), masterKey] })
    expect(rolled.open.read(token)).toEqual(ref)
    expect(tokens.open.read(rolled.open.sign(ref))).toBeUndefined()
    expect(makeTokens({ masterKey: next, previous: [] }).open.read(token)).toBeUndefined()
  })

  test('are not made for what is no id', () => {
    expect(() => tokens.open.sign({ orgId: 'org_1', messageId: newId('message') })).toThrow(/org/)
    expect(() => tokens.open.sign({ orgId: newId('org'), messageId: newId('tenant') })).toThrow(/message/)
  })
})
