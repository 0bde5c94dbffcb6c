import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readerOf, undecided } from './compile-schema.ts'

const address = z
  .string()
  .max(20)
  .transform((text, context) => {
    if (text.includes('@')) return text.split('@')
    context.addIssue('Not an address.')
    return z.NEVER
  })

const schemas = {
  text: z.string().min(1).max(5),
  pattern: z.string().regex(/^[a-z]*$/),
  refined: z.string().refine((text) => text !== 'no'),
  choice: z.enum(['a', 'b']).default('a'),
  list: z.array(z.string().min(1)).min(1).max(3),
  addresses: z.array(address).max(2).default([]),
  map: z.record(z.string().max(3), z.string()),
  small: z.preprocess(
    (value, context) => {
      if (typeof value !== 'object' || value === null || Object.keys(value).length < 2) return value
      context.addIssue('Too many keys.')
      return z.NEVER
    },
    z.record(z.string(), z.boolean()),
  ),
  object: z.object({ a: z.string(), b: z.string().optional(), c: z.boolean().default(true), d: z.unknown() }),
  strict: z.strictObject({ a: z.string().optional() }),
  ruled: z.object({ a: z.string().optional(), b: z.string().optional() }).superRefine((value, context) => {
    if (value.a === value.b) context.addIssue({ code: 'custom', path: ['a'], message: 'Equal.' })
  }),
  trimmed: z.string().trim(),
  moment: z.iso.datetime(),
  either: z.union([z.string(), z.array(z.string())]),
  never: z.object({ a: z.never().optional() }),
}

const word = fc.constantFrom('', 'a', 'b', 'no', 'a@b', 'abcdef', ' a ', '__proto__', '2026-01-01T00:00:00Z')
const value = fc.oneof(word, fc.boolean(), fc.constant(null), fc.integer())
const object = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'abcd', '__proto__'), value), { maxLength: 4 })
  .map((pairs) => JSON.parse(`{${pairs.map(([key, one]) => `${JSON.stringify(key)}:${JSON.stringify(one)}`).join()}}`))
const input = fc.oneof(value, fc.array(fc.oneof(word, value), { maxLength: 4 }), object, fc.constant(undefined))

describe('a compiled schema', () => {
  test.each(Object.entries(schemas))('accepts only what the schema accepts, with the same result: %s', (_, schema) => {
    fc.assert(
      fc.property(input, (given) => {
        const read = readerOf<unknown>(schema)(given)
        if (read !== undecided) expect(read).toStrictEqual(schema.parse(given))
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([
    ['a text', schemas.text, 'abc'],
    ['a pattern', schemas.pattern, 'abc'],
    ['a refinement', schemas.refined, 'yes'],
    ['a default', schemas.choice, undefined],
    ['a list', schemas.list, ['a', 'b']],
    ['a transform', schemas.addresses, ['a@b']],
    ['a map', schemas.map, { a: 'x' }],
    ['a preprocessed map', schemas.small, { a: true }],
    ['an object', schemas.object, { a: 'x', d: 1, unknown: 2 }],
    ['a strict object', schemas.strict, { a: 'x' }],
    ['a rule between fields', schemas.ruled, { a: 'x', b: 'y' }],
  ])('decides the ordinary case alone: %s', (_, schema, given) => {
    expect(readerOf<unknown>(schema)(given)).toStrictEqual(schema.parse(given))
  })

  test('leaves values that the library changes or compares itself to the schema', () => {
    expect(readerOf(schemas.trimmed)(' a ')).toBe(undecided)
    expect(readerOf(schemas.moment)('2026-01-01T00:00:00Z')).toBe(undecided)
    expect(readerOf<unknown>(schemas.either)('a')).toBe(undecided)
  })

  test('does not look into a list that is too long', () => {
    let looked = 0
    const counted = z.array(z.string().refine(() => ++looked > 0)).max(3)
    expect(readerOf(counted)(['a', 'b', 'c', 'd'])).toBe(undecided)
    expect(looked).toBe(0)
  })

  test('is made once for each schema', () => {
    expect(readerOf(schemas.text)).toBe(readerOf(schemas.text))
  })
})
