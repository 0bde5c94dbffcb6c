import { expect, test } from 'vitest'
import { validate } from '../../interfaces/http/read-request.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { assertVariables, VariablesShape, variablesFault } from './variables.ts'

const nested = (levels: number, make: (inner: unknown) => unknown, inner: unknown = 'x'): unknown => {
  let value = inner
  for (let i = 0; i < levels; i++) value = make(value)
  return value
}
const inArray = (inner: unknown) => [inner]
const inObject = (inner: unknown) => ({ a: inner })

test('S-342 X-344 values may be nested 10 levels deep, and the path of the next level is reported', () => {
  for (const make of [inArray, inObject]) {
    expect(variablesFault({ k: 'x', other: nested(10, make) })).toBe(undefined)
    const step = make === inArray ? 0 : 'a'
    expect(variablesFault({ k: 'x', other: nested(11, make) })).toEqual({
      path: ['other', ...new Array(10).fill(step)],
      code: 'custom',
      message: 'Must not be nested more than 10 levels deep.',
    })
    // An empty array or object counts as a level.
    expect(variablesFault({ k: nested(9, make, []) })).toBe(undefined)
    expect(variablesFault({ k: nested(10, make, {}) })).toMatchObject({
      path: ['k', ...new Array(10).fill(step)],
    })
  }
  const mixed = nested(5, (inner) => ({ a: [inner] }))
  expect(variablesFault({ k: mixed })).toBe(undefined)
  expect(variablesFault({ k: [mixed] })?.path).toHaveLength(11)
})

test('S-343 X-345 variables may have 65,536 bytes as UTF-8 JSON', () => {
  // {"k":"…"} is 8 bytes around the text.
  expect(variablesFault({ k: 'x'.repeat(65_528) })).toBe(undefined)
  const tooBig = { path: [], code: 'too_big', message: 'Must be at most 65536 bytes of JSON.' }
  expect(variablesFault({ k: 'x'.repeat(65_529) })).toEqual(tooBig)
  expect(variablesFault({ k: 'é'.repeat(32_764) })).toBe(undefined)
  expect(variablesFault({ k: 'é'.repeat(32_765) })).toEqual(tooBig)
  expect(variablesFault({ k: '"'.repeat(32_765) })).toEqual(tooBig)
})

test('S-344 the path of a number that is not finite or a value that is not JSON is reported', () => {
  for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    expect(variablesFault({ a: 1, b: [0, { c: number }] })).toEqual({
      path: ['b', 1, 'c'],
      code: 'custom',
      message: 'Must be a finite number.',
    })
  }
  for (const value of [1n, () => 1, Symbol('s')]) {
    expect(variablesFault({ a: [value] })).toMatchObject({
      path: ['a', 0],
      message: 'Must be a JSON value.',
    })
  }
  expect(variablesFault({ a: null, b: true, c: 1e308, d: '', e: [], f: {} })).toBe(undefined)
})

test('S-342 a circular value is rejected for its depth', () => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  expect(variablesFault({ circle })?.path).toEqual(['circle', ...new Array(10).fill('self')])
})

test('S-342 S-343 S-344 assertVariables and the schema report the same error and path', () => {
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
