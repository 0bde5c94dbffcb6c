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
