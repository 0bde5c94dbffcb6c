import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readerOf, undecided } from '../../../platform/ground/compile-schema.ts'
import { BatchItem, BulkEmail, SendEmail } from './shapes.ts'

const usual = {
  from: 'Acme <hello@acme.test>',
  to: ['ann@reader.test', 'Bob <bob@reader.test>'],
  subject: 'A subject',
  html: '<p>Hi</p>',
  text: 'Hi',
  tags: ['receipt'],
  metadata: { order: '42' },
}

test('an ordinary body is read without the schema, with the result of the schema', () => {
  for (const body of [usual, { ...usual, html: undefined }, { ...usual, text: undefined, tags: [], metadata: {} }]) {
    // As JSON delivers it: an absent value has no key.
    const raw = JSON.parse(JSON.stringify(body))
    expect(readerOf(SendEmail)(raw)).toStrictEqual(SendEmail.parse(raw))
    expect(readerOf(BatchItem)(raw)).toStrictEqual(BatchItem.parse(raw))
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
/** Ordinary bodies with some fields replaced, so that many are valid and bounds are reached. */
const nearUsual = fc.tuple(bodies, fc.uniqueArray(fc.constantFrom(...Object.keys(usual)))).map(([drawn, keys]) => {
  const { cc: _cc, stream: _stream, template: _template, unknown: _unknown, ...plain } = drawn
  return { ...plain, ...Object.fromEntries(keys.map((key) => [key, usual[key as keyof typeof usual]])) }
})

test('the compiled schemas accept only what the schemas accept, with the same result', () => {
  let [read, left] = [0, 0]
  fc.assert(
    fc.property(fc.oneof(bodies, { weight: 4, arbitrary: nearUsual }, anything), (drawn) => {
      const raw = JSON.parse(JSON.stringify(drawn) ?? 'null')
      for (const schema of [SendEmail, BatchItem, BulkEmail]) {
        const found = readerOf<unknown>(schema)(raw)
        if (found === undecided) left++
        else {
          read++
          expect(found).toStrictEqual(schema.parse(raw))
        }
      }
    }),
    { numRuns: 3_000 },
  )
  expect(read).toBeGreaterThan(200)
  expect(left).toBeGreaterThan(200)
})
