import fc from 'fast-check'
import { expect, test } from 'vitest'
import { validate } from '../../ground/validate.ts'
import { plainEmail, plainItem } from './plain.ts'
import { BatchItem, SendEmail } from './shapes.ts'

const usual = {
  from: 'Acme <hello@acme.test>',
  to: ['ann@reader.test', 'Bob <bob@reader.test>'],
  subject: 'A subject',
  html: '<p>Hi</p>',
  text: 'Hi',
  tags: ['receipt'],
  metadata: { order: '42' },
}

test('the usual body is read as the schema reads it, and without asking it', () => {
  for (const body of [usual, { ...usual, html: undefined }, { ...usual, text: undefined, tags: [], metadata: {} }]) {
    // As it comes out of JSON: what is not there has no key.
    const raw = JSON.parse(JSON.stringify(body))
    expect(plainEmail(raw)).toEqual(validate(SendEmail, raw))
    expect(plainItem(raw)).toEqual(validate(BatchItem, raw))
  }
})

const ofLength = (...lengths: number[]) => fc.constantFrom(...lengths.map((length) => 'x'.repeat(length)))
const address = fc.oneof(
  fc.constantFrom('ann@reader.test', 'Ann <ann@reader.test>', '"A, B" <a.b+c@READER.test>', 'größe@büro.test'),
  fc.constantFrom('ann', 'ann@', '@reader.test', 'Ann <ann>', '', ' ann@reader.test ', 'a\r\nb@reader.test'),
  ofLength(989, 1_001).map((name) => `${name} <a@b.test>`),
)
const anything = fc.oneof(fc.jsonValue(), address, fc.array(address, { maxLength: 3 }))
const text = fc.oneof(fc.constantFrom('', 'Hi', 'two\nlines', 'half \r line'), ofLength(998, 999), fc.string())
const words = fc.oneof(fc.constantFrom('', 'word', '__proto__', 'constructor'), ofLength(128, 129))
const bodies = fc.record(
  {
    from: fc.oneof({ weight: 4, arbitrary: address }, anything),
    to: fc.oneof(
      { weight: 4, arbitrary: fc.array(address, { maxLength: 3 }) },
      fc.constantFrom(0, 50, 51).map((n) => Array.from({ length: n }, () => 'a@b.test')),
      anything,
    ),
    subject: fc.oneof({ weight: 4, arbitrary: text }, anything),
    html: fc.oneof({ weight: 4, arbitrary: text }, anything),
    text: fc.oneof({ weight: 4, arbitrary: text }, anything),
    tags: fc.oneof(
      fc.array(words, { maxLength: 3 }),
      fc.constantFrom(10, 11).map((n) => Array.from({ length: n }, () => 'tag')),
      anything,
    ),
    metadata: fc.oneof(
      fc
        .array(fc.tuple(words, fc.oneof(words, ofLength(2_048, 2_049), anything)), { maxLength: 3 })
        .map((pairs) =>
          JSON.parse(`{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`),
        ),
      fc.constantFrom(50, 51).map((n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 'v']))),
      anything,
    ),
    cc: anything,
    stream: fc.constantFrom('broadcast', 'transactional', 1),
    template: fc.constant('welcome'),
    unknown: anything,
  },
  { requiredKeys: [] },
)
/** Most of them whole but for what was drawn, so that much is taken and the bounds are met. */
const nearUsual = fc.tuple(bodies, fc.uniqueArray(fc.constantFrom(...Object.keys(usual)))).map(([drawn, keys]) => {
  const { cc: _cc, stream: _stream, template: _template, unknown: _unknown, ...plain } = drawn
  return { ...plain, ...Object.fromEntries(keys.map((key) => [key, usual[key as keyof typeof usual]])) }
})

test('whatever is read without the schema is what the schema makes of it, and what it refuses is not read', () => {
  let [taken, left] = [0, 0]
  fc.assert(
    fc.property(fc.oneof(bodies, { weight: 4, arbitrary: nearUsual }, anything), (drawn) => {
      const raw = JSON.parse(JSON.stringify(drawn) ?? 'null')
      for (const [read, schema] of [
        [plainEmail, SendEmail],
        [plainItem, BatchItem],
      ] as const) {
        const found = read(raw)
        if (found === undefined) left++
        else {
          taken++
          expect(found).toEqual(validate<unknown>(schema, raw))
        }
      }
    }),
    { numRuns: 3_000 },
  )
  expect(taken).toBeGreaterThan(200)
  expect(left).toBeGreaterThan(200)
})
