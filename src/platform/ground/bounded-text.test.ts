import { expect, test } from 'vitest'
import type { z } from 'zod'
import { givenId, givenInstant, patternText } from './bounded-text.ts'

const codes = (schema: z.ZodType, input: unknown) => schema.safeParse(input).error?.issues.map(({ code }) => code) ?? []
const instant = (digits: number) => `2026-01-01T00:00:00.${'0'.repeat(digits)}Z`

test('An instant can have any offset but not any number of digits', () => {
  expect(codes(givenInstant, '2026-01-01T00:00:00+05:30')).toEqual([])
  expect(codes(givenInstant, instant(43))).toEqual([])
  expect(codes(givenInstant, instant(44))).toEqual(['too_big'])
  expect(codes(givenInstant, 'x'.repeat(100))).toEqual(['invalid_format'])
})

test('An id from a caller has at most 100 characters', () => {
  expect(codes(givenId, 'x'.repeat(100))).toEqual([])
  expect(codes(givenId, 'x'.repeat(101))).toEqual(['too_big'])
})

test('A text that is too long for its pattern has one issue, with the message of the pattern', () => {
  const slug = patternText(/^[a-z]{1,3}$/, 3, 'Must be 1 to 3 letters.')
  expect(codes(slug, 'abc')).toEqual([])
  expect(slug.safeParse('abcd').error?.issues).toMatchObject([
    { code: 'invalid_format', message: 'Must be 1 to 3 letters.' },
  ])
})
