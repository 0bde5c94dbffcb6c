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
  return expect.unreachable('it was taken')
}

test('X-160 what is missing is told in the words of the schema where it has some', () => {
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

test('X-160 the key of a map is told what is wrong with it, at its own path, within a choice of forms too', () => {
  const key = z
    .string()
    .regex(/^[a-z]+$/, 'Takes small letters.')
    .refine((name) => name !== 'taken', 'This one is taken.')
  const map = z.object({ map: z.record(key, z.string()) })
  const told = [
    { path: ['map', 'B'], code: 'invalid_string', message: 'Takes small letters.' },
    { path: ['map', 'taken'], code: 'custom', message: 'This one is taken.' },
  ]
  const input = { map: { a: 'x', B: 'x', taken: 'x' } }
  expect(rows(map, input)).toEqual(told)
  expect(rows(z.union([map, z.array(z.string())]), input)).toEqual(told)
})
