import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Failure } from './errors.ts'
import { validate } from './validate.ts'

const rows = (schema: z.ZodType, input: unknown) => {
  try {
    validate(schema, input)
  } catch (error) {
    return (error as Failure).detail.errors
  }
  return expect.unreachable('the input was accepted')
}

test('X-160 a missing field is reported with the message of its schema, or else with a default one', () => {
  const schema = z.object({
    plain: z.string(),
    choice: z.enum(['a', 'b']),
    own: z.string('Name the thing.'),
  })
  expect(rows(schema, {})).toEqual([
    { path: ['plain'], code: 'required', message: 'Required.' },
    { path: ['choice'], code: 'required', message: 'Required.' },
    { path: ['own'], code: 'required', message: 'Name the thing.' },
  ])
})

test('X-160 a fault in a map key is reported at that key, also inside a union', () => {
  const key = z
    .string()
    .regex(/^[a-z]+$/, 'Must be lower-case letters.')
    .refine((name) => name !== 'taken', 'This name is taken.')
  const map = z.object({ map: z.record(key, z.string()) })
  const faults = [
    { path: ['map', 'B'], code: 'invalid_string', message: 'Must be lower-case letters.' },
    { path: ['map', 'taken'], code: 'custom', message: 'This name is taken.' },
  ]
  const input = { map: { a: 'x', B: 'x', taken: 'x' } }
  expect(rows(map, input)).toEqual(faults)
  expect(rows(z.union([map, z.array(z.string())]), input)).toEqual(faults)
})

test('Only the first 100 faults become rows, in a list, a map, a union and an object with unknown fields', () => {
  const many = Array.from({ length: 150 }, (_, i) => `k${i}`)
  const list = z.object({ list: z.array(z.string()).max(150) })
  const map = z.object({ map: z.record(z.string(), z.string()) })
  const inList = many.slice(0, 100).map((_, i) => ['list', i])
  const inMap = many.slice(0, 100).map((key) => ['map', key])
  const numbers = many.map((_, i) => i)
  const object = Object.fromEntries(many.map((key) => [key, 1]))
  const paths = (schema: z.ZodType, input: unknown) => rows(schema, input)?.map(({ path }) => path)
  expect(paths(list, { list: numbers })).toEqual(inList)
  expect(paths(map, { map: object })).toEqual(inMap)
  expect(paths(z.union([list, map]), { list: numbers })).toEqual(inList)
  expect(paths(z.strictObject({}), object)).toEqual(many.slice(0, 100).map((key) => [key]))
})

test('Rows beyond the first 100 are never made', () => {
  let made = 0
  const counted = z.string({
    error: () => {
      made++
      return 'Must be text.'
    },
  })
  const errors = rows(z.array(counted).max(500), new Array(500).fill(1))
  expect([errors?.length, made]).toEqual([100, 100])
})

test('A list that is too long for one form of a union and of the wrong kind for the other gets one row', () => {
  const schema = z.object({ to: z.union([z.array(z.string()).max(2), z.string().max(3)]) })
  expect(rows(schema, { to: [1, 1, 1, 1] })).toEqual([
    { path: ['to'], code: 'too_big', message: 'Too big: expected array to have <=2 items' },
  ])
})

const nested = z.object({
  reply_to: z.string().optional(),
  list: z
    .array(z.object({ content_type: z.string().optional() }))
    .max(2)
    .optional(),
  map: z.record(z.string(), z.string()).optional(),
  open: z.looseObject({ inner_name: z.string().optional() }).optional(),
  either: z.union([z.string(), z.strictObject({ first_name: z.string().optional() })]).optional(),
})

test('R-19 a field in another spelling is refused at its path, with the right name', () => {
  const row = (path: (string | number)[], name: string) => ({
    path,
    code: 'unrecognized',
    message: `Unknown field. Did you mean ${name}?`,
  })
  const given = {
    replyTo: 'a',
    REPLY_TO: 'b',
    list: [{ content_type: 'a' }, { contentType: 'a', __Content__Type: 'b' }],
    either: { FirstName: 'a', other: 1 },
  }
  expect(rows(nested, given)).toEqual([
    row(['replyTo'], 'reply_to'),
    row(['REPLY_TO'], 'reply_to'),
    row(['list', 1, 'contentType'], 'content_type'),
    row(['list', 1, '__Content__Type'], 'content_type'),
    row(['either', 'FirstName'], 'first_name'),
    { path: ['either', 'other'], code: 'unrecognized', message: 'Unknown field.' },
  ])
})

test('R-19 other unknown fields are ignored, and so are the keys of a map and of an open object', () => {
  const given = {
    reply_to: 'a',
    reply: 'b',
    replyToo: 'c',
    [`reply${'_'.repeat(200)}to`]: 'd',
    map: { replyTo: 'x', content_type: 'y', contentType: 'z' },
    open: { innerName: 'x' },
  }
  const { reply_to, map, open } = given
  expect(validate(nested, given)).toEqual({ reply_to, map, open })
})

test('R-19 a list that is too long is not searched, and a response has at most 100 rows', () => {
  const long = { list: Array.from({ length: 3 }, () => ({ contentType: 'a' })) }
  expect(rows(nested, long)).toEqual([{ path: ['list'], code: 'too_big', message: expect.any(String) }])
  const spellings = Array.from({ length: 120 }, (_, i) => `${'_'.repeat(i)}replyTo`)
  const many = { ...Object.fromEntries(spellings.map((name) => [name, 1])), list: 1 }
  expect(rows(nested, many)).toHaveLength(100)
})
