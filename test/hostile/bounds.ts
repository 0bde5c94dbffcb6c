/** Values on, just inside and just outside the bounds of a JSON Schema. */
import fc from 'fast-check'
import { type Resolve, type Schema, validValue } from './values.ts'

export type Case = {
  value: unknown
  /** Whether the schema accepts the value; undefined if the bound alone does not decide. */
  inside: boolean | undefined
}

const numbers = (schema: Schema): Case[] => {
  const step = schema.type === 'integer' ? 1 : 1e-6
  const cases: Case[] = [
    { value: 'many', inside: false },
    { value: 1e308, inside: schema.maximum === undefined ? undefined : false },
  ]
  if (schema.type === 'integer') cases.push({ value: 1.5, inside: false })
  for (const [bound, outward] of [
    [schema.minimum, -step],
    [schema.maximum, step],
  ] as const) {
    if (typeof bound !== 'number' || Math.abs(bound) >= Number.MAX_SAFE_INTEGER) continue
    cases.push(
      { value: bound, inside: true },
      { value: bound - outward, inside: true },
      { value: bound + outward, inside: false },
    )
  }
  return cases
}

const texts = (schema: Schema): Case[] => {
  // With a pattern, a format or examples, a text of valid length can still be invalid.
  const free = [schema.pattern, schema.format, schema.examples].every((rule) => rule === undefined)
  const least = Number(schema.minLength ?? 0)
  const most = Number(schema.maxLength ?? 0)
  const of = (length: number): string => 'x'.repeat(length)
  return [
    { value: of(least), inside: free ? true : undefined },
    ...(least > 0 ? [{ value: of(least - 1), inside: false }] : []),
    ...(most > 0
      ? [
          { value: of(most), inside: free ? true : undefined },
          { value: of(most + 1), inside: false },
          { value: of(most * 20), inside: false },
        ]
      : []),
  ]
}

const lists = (schema: Schema, resolve: Resolve): Case[] => {
  const [item] = fc.sample(validValue((schema.items ?? {}) as Schema, resolve, { full: true }), { numRuns: 1 })
  const of = (length: number): unknown[] => new Array(length).fill(item)
  const least = Number(schema.minItems ?? 0)
  const most = schema.maxItems as number | undefined
  return [
    { value: of(least), inside: true },
    ...(least > 0 ? [{ value: of(least - 1), inside: false }] : []),
    ...(most === undefined
      ? []
      : [
          { value: of(most), inside: true },
          { value: of(most + 1), inside: false },
        ]),
    { value: { 0: item, length: 1 }, inside: false },
  ]
}

/** The cases of all members of a union. A value outside one member may be inside another. */
export const casesOf = (schema: Schema, resolve: Resolve): Case[] => {
  if (typeof schema.$ref === 'string') return casesOf(resolve(schema.$ref), resolve)
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (choices) {
    return choices
      .flatMap((choice) => casesOf(choice, resolve))
      .map(({ value, inside }) => ({ value, inside: inside || undefined }))
  }
  if ('const' in schema)
    return [
      { value: schema.const, inside: true },
      { value: 'other', inside: false },
    ]
  if (Array.isArray(schema.enum)) {
    const cased = schema.enum.map((value) => ({ value: String(value).toUpperCase(), inside: false }))
    return [
      ...schema.enum.map((value) => ({ value, inside: true })),
      ...cased.filter(({ value }) => !(schema.enum as unknown[]).includes(value)),
      { value: '', inside: false },
      { value: '__proto__', inside: false },
    ]
  }
  if (schema.type === 'integer' || schema.type === 'number') return numbers(schema)
  if (schema.type === 'string') return texts(schema)
  if (schema.type === 'array') return lists(schema, resolve)
  if (schema.type === 'object')
    return [
      { value: [], inside: false },
      { value: 'text', inside: false },
    ]
  return []
}

export type Place = {
  path: (string | number)[]
  schema: Schema
  /** Bodies with a value in this place. */
  sample: fc.Arbitrary<unknown>
  /** Bodies with a value in this place and as little else as possible. */
  least: fc.Arbitrary<unknown>
}

type Around = (inner: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>

/** Every property of a body at any depth, each with bodies that contain it. */
export const placesIn = (
  schema: Schema,
  resolve: Resolve,
  path: Place['path'] = [],
  around: { full: Around; least: Around } = { full: (inner) => inner, least: (inner) => inner },
): Place[] => {
  if (path.length > 8) return []
  if (typeof schema.$ref === 'string') return placesIn(resolve(schema.$ref), resolve, path, around)
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (choices) return choices.flatMap((choice) => placesIn(choice, resolve, path, around))
  const place = (at: Place['path'], own: Schema, within: typeof around): Place[] => [
    {
      path: at,
      schema: own,
      sample: within.full(validValue(own, resolve, { full: true })),
      least: within.least(validValue(own, resolve, { least: true })),
    },
    ...placesIn(own, resolve, at, within),
  ]
  if (schema.type === 'array') {
    const inList =
      (outer: Around): Around =>
      (inner) =>
        outer(inner.map((item) => Array.from({ length: Math.max(1, Number(schema.minItems ?? 1)) }, () => item)))
    const within = { full: inList(around.full), least: inList(around.least) }
    return place([...path, 0], (schema.items ?? {}) as Schema, within)
  }
  if (schema.type !== 'object') return []
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).flatMap(([name, field]) => {
    const inObject =
      (outer: Around, others: fc.Arbitrary<unknown>): Around =>
      (inner) =>
        outer(fc.tuple(others, inner).map(([all, own]) => ({ ...(all as object), [name]: own })))
    const within = {
      full: inObject(around.full, validValue(schema, resolve, { full: true })),
      least: inObject(around.least, validValue(schema, resolve, { least: true })),
    }
    return place([...path, name], field, within)
  })
}

/** The JSON of the body with arbitrary bytes in that place. */
export const putPiece = (body: unknown, path: Place['path'], piece: Buffer): Buffer => {
  const mark = 'the place of the piece'
  const [before = '', after = ''] = JSON.stringify(put(body, path, mark)).split(JSON.stringify(mark))
  return Buffer.concat([Buffer.from(before), piece, Buffer.from(after)])
}

/** A copy of the body with the value in that place. */
export const put = (body: unknown, path: Place['path'], value: unknown): unknown => {
  const [first, ...rest] = path
  if (first === undefined) return value
  if (Array.isArray(body)) return body.map((item, i) => (i === first ? put(item, rest, value) : item))
  return { ...(body as object), [first]: put((body as Record<string, unknown>)[first], rest, value) }
}
