/** Generates values that match a JSON Schema, and invalid bodies of many kinds. */
import fc from 'fast-check'
import { newId, prefixes } from '../../src/platform/ground/ids.ts'

export type Schema = { [member: string]: unknown }

/** Finds the schema of a `$ref`. */
export type Resolve = (reference: string) => Schema

type How = {
  /** Includes every property and at least one item in every list. */
  full?: boolean
  /** Omits every optional property. */
  least?: boolean
  depth?: number
}

const shortEmail = fc.stringMatching(/^[a-z0-9]{1,12}@[a-z]{1,8}\.(?:test|example)$/)
const instant = fc
  .date({ min: new Date(0), max: new Date(4_102_444_800_000), noInvalidDate: true })
  .map((date) => date.toISOString())

const ofFormat: Record<string, fc.Arbitrary<string>> = {
  email: shortEmail,
  'date-time': instant,
  date: instant.map((text) => text.slice(0, 10)),
  uri: fc.webUrl(),
  url: fc.webUrl(),
  uuid: fc.uuid(),
  ipv4: fc.ipV4(),
  ipv6: fc.ipV6(),
}

/** Prefers the examples of the schema, which are valid even where the schema cannot express a rule. */
const text = (schema: Schema, how: How): fc.Arbitrary<string> => {
  if (!Array.isArray(schema.examples)) return anyText(schema, how)
  const examples = fc.constantFrom(...(schema.examples as string[]))
  return how.full || how.least ? examples : fc.oneof(examples, anyText(schema, how))
}

const anyText = (schema: Schema, { full }: How): fc.Arbitrary<string> => {
  const known = ofFormat[String(schema.format)]
  if (known) return known
  if (typeof schema.pattern === 'string') {
    try {
      return fc.stringMatching(new RegExp(schema.pattern))
    } catch {
      // Text cannot be generated from every pattern. Any text is then used as an invalid value.
    }
  }
  const minLength = Number(schema.minLength ?? 0)
  const maxLength = Math.max(minLength, Math.min(Number(schema.maxLength ?? 40), minLength + 40))
  // A schema counts characters, but the code counts UTF-16 units. Only ASCII has the same length in both.
  return fc.string({ minLength, maxLength, unit: full ? 'grapheme-ascii' : 'grapheme' })
}

const number = (schema: Schema): fc.Arbitrary<number> => {
  const min = Number(schema.minimum ?? -1e6)
  const max = Number(schema.maximum ?? Math.max(1e6, min))
  if (schema.type === 'integer') return fc.integer({ min: Math.ceil(min), max: Math.floor(max) })
  return fc.double({ min, max, noNaN: true })
}

const object = (schema: Schema, resolve: Resolve, how: How): fc.Arbitrary<unknown> => {
  const required = (schema.required ?? []) as string[]
  const fields: Record<string, fc.Arbitrary<unknown>> = {}
  for (const [name, field] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
    // The schema describes this property only to forbid it.
    if ('not' in field) continue
    if (!how.least || required.includes(name)) fields[name] = validValue(field, resolve, how)
  }
  const record = fc.record(fields, {
    requiredKeys: Object.keys(fields).filter((name) => how.full || required.includes(name)),
  })
  const further = schema.additionalProperties
  if (typeof further !== 'object' || further === null) return record
  const names = text((schema.propertyNames ?? { maxLength: 8 }) as Schema, how)
  const extra = fc.dictionary(names, validValue(further as Schema, resolve, how), { maxKeys: 3 })
  return fc.tuple(extra, record).map(([more, own]) => ({ ...more, ...own }))
}

/** Values that match the schema. They may still break rules that a schema cannot express. */
export const validValue = (schema: Schema, resolve: Resolve, outer: How = {}): fc.Arbitrary<unknown> => {
  const how = { ...outer, depth: (outer.depth ?? 0) + 1 }
  if (how.depth > 8) return fc.constant(null)
  // A reference or a union does not add a level to the value.
  if (typeof schema.$ref === 'string') return validValue(resolve(schema.$ref), resolve, outer)
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (choices) return fc.oneof(...choices.map((choice) => validValue(choice, resolve, outer)))
  if (Array.isArray(schema.allOf)) {
    return fc
      .tuple(...(schema.allOf as Schema[]).map((part) => validValue(part, resolve, how)))
      .map((parts) => Object.assign({}, ...parts))
  }
  const { type } = schema
  if (Array.isArray(type)) {
    return fc.oneof(...type.map((one) => validValue({ ...schema, type: one }, resolve, how)))
  }
  if (type === 'string') return text(schema, how)
  if (type === 'integer' || type === 'number') return number(schema)
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (type === 'array') {
    const minLength = Math.max(Number(schema.minItems ?? 0), how.full ? 1 : 0)
    const items = validValue((schema.items ?? {}) as Schema, resolve, how)
    return fc.array(items, {
      minLength,
      maxLength: Math.max(minLength, Math.min(Number(schema.maxItems ?? 4), 4)),
    })
  }
  if (type === 'object') return object(schema, resolve, how)
  return fc.jsonValue()
}

const nested = (levels: number, open: string, shut: string, core: string): string =>
  open.repeat(levels) + core + shut.repeat(levels)

const wide = (members: number): string => `{${Array.from({ length: members }, (_, i) => `"k${i}":${i}`).join(',')}}`

/** Keys that exist on every object, or that are unusual as text. */
export const oddNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'toJSON',
  'then',
  'length',
  '$ref',
  '',
  ' ',
  '\u202e',
  '0',
  '-1',
]

/** Unusual texts, for queries and paths and, quoted, for bodies. */
export const oddTexts = [
  ...oddNames,
  'null',
  'undefined',
  'NaN',
  'true',
  '-0',
  '1e999',
  '-1',
  '0',
  '2147483648',
  '9223372036854775808',
  '9007199254740993',
  '0x10',
  '٣',
  '1_000',
  '../../etc/passwd',
  "' or 1=1 --",
  '"; drop table orgs; --',
  '{{7*7}}',
  '#{7*7}',
  '%s%s%n',
  '%',
  '\\',
  '*',
  '<script>',
  'a@b',
  'İ@example.com',
  'ﬁ@example.com',
  '+1415555010',
  '😀',
  'e\u0301\u0301\u0301',
  '\u2028',
  '\ufeff',
  '\uffff',
  '\u{10ffff}',
  '0000-01-01T00:00:00.000Z',
  '2023-02-31T00:00:00.000Z',
  '9999-12-31T23:59:60Z',
  '+275760-09-13T00:00:00.000Z',
  '-271821-04-20T00:00:00.000Z',
  'x'.repeat(321),
  'x'.repeat(5_000),
]

/** A well-formed base64url cursor whose position may be invalid. */
export const oddCursor: fc.Arbitrary<string> = fc
  .record({
    c: fc.oneof(
      { weight: 1, arbitrary: instant },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          '0000-01-01T00:00:00.000Z',
          '2023-02-31T00:00:00.000Z',
          '2023-02-29T24:00:00.000Z',
          '9999-12-31T23:59:59.999Z',
          '0001-01-01T00:00:00.000Z',
          '2023-13-01T00:00:00.000Z',
        ),
      },
      { weight: 1, arbitrary: fc.stringMatching(/^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z$/) },
    ),
    i: fc.oneof(
      fc.constantFrom(...Object.keys(prefixes)).map((kind) => newId(kind as keyof typeof prefixes)),
      fc.stringMatching(/^[a-z]{3}_[0-9a-z]{26}$/),
    ),
  })
  .map((position) => Buffer.from(JSON.stringify(position)).toString('base64url'))

/** JSON of strings that a text column cannot store: NUL characters and unpaired surrogates. */
export const unstorable = [
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\uD83D x"',
  '{"\\u0000":1}',
  '{"\\ud800":1}',
]

/** Fragments of JSON text, some of them invalid, that replace a value. */
const oddPiece: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...oddTexts).map((odd) => JSON.stringify(odd)),
  fc.constantFrom(...unstorable),
  fc.constantFrom(
    'null',
    'true',
    '{}',
    '[]',
    '[[]]',
    '[null]',
    '""',
    '0',
    '-0',
    '1',
    '1.5',
    '-1',
    '1e-400',
    '1e999',
    '-1e999',
    '1e21',
    '2147483648',
    '9007199254740993',
    '9223372036854775808',
    '1'.repeat(400),
    '{"__proto__":{"admin":true}}',
    '{"constructor":{"prototype":{"admin":true}}}',
    '{"toString":null,"valueOf":null}',
    '{"length":4294967296}',
    '{"a":1,"a":2}',
    'NaN',
    'Infinity',
    'undefined',
    '01',
    '+1',
    '.5',
    '1.',
    '0x10',
    "'a'",
    '"a',
    '"\t"',
    '"\u0000"',
    '"\\x"',
    '"\\u12"',
    '/**/1',
    '1,',
    ',',
    '{a:1}',
    '{"a"}',
    '[1,]',
  ),
  fc.constantFrom(150, 250, 5_000, 100_000).chain((levels) =>
    fc.constantFrom(
      nested(levels, '[', ']', ''),
      nested(levels, '{"a":', '}', '1'),
      nested(levels, '[{"\\ud83d\\ude00":', '}]', '"\\u0000"'),
      // Never closed.
      '['.repeat(levels),
    ),
  ),
  fc.constantFrom(1_000, 50_000).map(wide),
  fc.constantFrom(1_000, 100_000).map((n) => `[${'1,'.repeat(n)}1]`),
  fc.constant(`"${'y'.repeat(200_000)}"`),
  fc.json(),
)

const nodes = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, item) => sum + nodes(item), 1)
}

/** The JSON of a value in which the node with that number, in order of output, is replaced by a fragment. */
const withPiece = (value: unknown, at: number, piece: string): string => {
  let seen = 0
  const put = (node: unknown): string => {
    if (seen++ === at) return piece
    if (Array.isArray(node)) return `[${node.map(put).join(',')}]`
    if (typeof node !== 'object' || node === null) return JSON.stringify(node) ?? 'null'
    return `{${Object.entries(node)
      .map(([name, item]) => `${JSON.stringify(name)}:${put(item)}`)
      .join(',')}}`
  }
  return put(value)
}

const withMember = (json: string, name: string, piece: string): string => {
  const member = `${JSON.stringify(name)}:${piece}`
  if (!json.startsWith('{')) return `{${member}}`
  return json === '{}' ? `{${member}}` : `{${member},${json.slice(1)}`
}

const utf8 = (json: string): Buffer => Buffer.from(json, 'utf8')

const withByte = (bytes: Buffer, at: number, byte: number): Buffer => {
  if (bytes.length === 0) return Buffer.from([byte])
  const copy = Buffer.from(bytes)
  copy[at % copy.length] = byte
  return copy
}

const wholeBodies = fc.constantFrom(
  '',
  ' ',
  '\r\n\t',
  'null',
  'true',
  '0',
  '""',
  '"a"',
  '[]',
  '[{}]',
  '{}',
  '{',
  '}',
  '{"',
  '\u0000',
  '\ufeff{}',
  '{}\ufeff',
  '{}{}',
  '{} garbage',
  '// note\n{}',
  '<xml/>',
  'a=b&c=d',
  '{"a":1}\u0000',
)

/** A valid body. */
export const validBody = (schema: Schema | undefined, resolve: Resolve): fc.Arbitrary<Buffer> =>
  schema ? validValue(schema, resolve).map((value) => utf8(JSON.stringify(value))) : fc.constant(utf8('{}'))

export const hostileBody = (schema: Schema | undefined, resolve: Resolve): fc.Arbitrary<Buffer> => {
  const value = schema ? validValue(schema, resolve) : fc.jsonValue()
  const json = value.map((made) => JSON.stringify(made))
  return fc.oneof(
    { weight: 2, arbitrary: json.map(utf8) },
    {
      weight: 10,
      arbitrary: fc
        .tuple(value, fc.nat(), oddPiece)
        .map(([made, at, piece]) => utf8(withPiece(made, at % nodes(made), piece))),
    },
    {
      weight: 4,
      arbitrary: fc
        .tuple(json, fc.oneof(fc.constantFrom(...oddNames), fc.string()), oddPiece)
        .map(([made, name, piece]) => utf8(withMember(made, name, piece))),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(json, fc.nat(), fc.constantFrom(0x00, 0x0a, 0x22, 0x5c, 0x7b, 0x80, 0xc0, 0xed, 0xff))
        .map(([made, at, byte]) => withByte(utf8(made), at, byte)),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(json, fc.nat()).map(([made, at]) => utf8(made.slice(0, at % (made.length + 1)))),
    },
    { weight: 1, arbitrary: json.map((made) => utf8(`\ufeff${made}`)) },
    { weight: 1, arbitrary: json.map((made) => Buffer.from(`\ufeff${made}`, 'utf16le')) },
    { weight: 1, arbitrary: json.map((made) => utf8(`[${made}]`)) },
    { weight: 1, arbitrary: fc.tuple(json, oddPiece).map(([made, piece]) => utf8(made + piece)) },
    // Repeats members, of which the last one wins.
    {
      weight: 1,
      arbitrary: fc.tuple(json, json).map(([one, two]) => utf8(one.replace(/\}$/, `,${two.slice(1)}`))),
    },
    { weight: 1, arbitrary: wholeBodies.map(utf8) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
  )
}
