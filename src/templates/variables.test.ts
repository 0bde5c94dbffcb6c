import { expect, test } from 'vitest'
import { Failure } from '../ground/errors.ts'
import { validate } from '../http/read-request.ts'
import { assertVariables, VariablesShape, variablesFault } from './variables.ts'

const nested = (levels: number, make: (inner: unknown) => unknown, inner: unknown = 'x'): unknown => {
  let value = inner
  for (let i = 0; i < levels; i++) value = make(value)
  return value
}
const inArray = (inner: unknown) => [inner]
const inObject = (inner: unknown) => ({ a: inner })

test('S-342 X-344 ten levels below a top-level key are taken and the eleventh is told where it stands', () => {
  for (const make of [inArray, inObject]) {
    expect(variablesFault({ k: 'x', other: nested(10, make) })).toBe(undefined)
    const step = make === inArray ? 0 : 'a'
    expect(variablesFault({ k: 'x', other: nested(11, make) })).toEqual({
      path: ['other', ...new Array(10).fill(step)],
      code: 'custom',
      message: 'Nests more than 10 levels deep.',
    })
    // An empty array or object is a level too.
    expect(variablesFault({ k: nested(9, make, []) })).toBe(undefined)
    expect(variablesFault({ k: nested(10, make, {}) })).toMatchObject({
      path: ['k', ...new Array(10).fill(step)],
    })
  }
  const mixed = nested(5, (inner) => ({ a: [inner] }))
  expect(variablesFault({ k: mixed })).toBe(undefined)
  expect(variablesFault({ k: [mixed] })?.path).toHaveLength(11)
})

test('S-343 X-345 65,536 bytes of JSON are taken and one more is not, counted as UTF-8', () => {
  // {"k":"…"} is 8 bytes around the text.
  expect(variablesFault({ k: 'x'.repeat(65_528) })).toBe(undefined)
  const tooBig = { path: [], code: 'too_big', message: 'Takes at most 65536 bytes of JSON.' }
  expect(variablesFault({ k: 'x'.repeat(65_529) })).toEqual(tooBig)
  expect(variablesFault({ k: 'é'.repeat(32_764) })).toBe(undefined)
  expect(variablesFault({ k: 'é'.repeat(32_765) })).toEqual(tooBig)
  expect(variablesFault({ k: '"'.repeat(32_765) })).toEqual(tooBig)
})

test('S-344 a number that is not finite is told where it stands, and so is what is no JSON', () => {
  for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    expect(variablesFault({ a: 1, b: [0, { c: number }] })).toEqual({
      path: ['b', 1, 'c'],
      code: 'custom',
      message: 'Takes finite numbers only.',
    })
  }
  for (const value of [1n, () => 1, Symbol('s')]) {
    expect(variablesFault({ a: [value] })).toMatchObject({
      path: ['a', 0],
      message: 'Takes JSON values only.',
    })
  }
  expect(variablesFault({ a: null, b: true, c: 1e308, d: '', e: [], f: {} })).toBe(undefined)
})

test('S-342 what refers to itself is refused for its depth', () => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  expect(variablesFault({ circle })?.path).toEqual(['circle', ...new Array(10).fill('self')])
})

test('S-342 S-343 S-344 the check throws a refusal at its path, and the schema says the same', () => {
  const cases: Record<string, unknown>[] = [{ a: Number.NaN }, { a: nested(11, inArray) }, { a: 'x'.repeat(70_000) }]
  for (const variables of cases) {
    const fault = variablesFault(variables)
    const errors = [{ ...fault, path: ['variables', ...(fault?.path ?? [])] }]
    const thrown = (work: () => unknown): unknown => {
      try {
        return work()
      } catch (error) {
        return error instanceof Failure && [error.code, error.detail.errors]
      }
    }
    expect(thrown(() => assertVariables(variables))).toEqual(['VALIDATION_ERROR', errors])
    expect(thrown(() => validate(VariablesShape, variables))).toEqual([
      'VALIDATION_ERROR',
      [{ ...fault, path: fault?.path }],
    ])
  }
  expect(() => assertVariables({ a: 1 })).not.toThrow()
})
