/** What a schema makes of an input, and the refusal when it makes nothing of it. */
import type { z } from 'zod'
import { Failure, type FieldError, malformed } from './errors.ts'

type Issue = z.core.$ZodIssue

const codeOf = (issue: Issue): string => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'required' : 'invalid_type'
    case 'too_small':
      return 'too_small'
    case 'too_big':
      return 'too_big'
    case 'invalid_format':
      return 'invalid_string'
    case 'invalid_value':
      return issue.input === undefined ? 'required' : 'invalid_enum'
    case 'unrecognized_keys':
      return 'unrecognized'
    default:
      return 'custom'
  }
}

const pathOf = (path: PropertyKey[]): (string | number)[] =>
  path.map((part) => (typeof part === 'number' ? part : String(part)))

/** The value a path's last part names, where the input is the object that should hold it. */
const fieldAt = (input: unknown, path: PropertyKey[]): unknown => {
  const name = path.at(-1)
  return typeof input === 'object' && input !== null && name !== undefined
    ? (input as Record<PropertyKey, unknown>)[name]
    : input
}

type Union = Extract<Issue, { code: 'invalid_union' }>

/** How many parts of the path are there in what was sent. */
const depthIn = (input: unknown, path: PropertyKey[]): number => {
  let value = input
  for (const [depth, part] of path.entries()) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return depth
    value = (value as Record<PropertyKey, unknown>)[part]
  }
  return path.length
}

/** A list where an object is taken, or the like: nothing of the form was there. */
const isOtherKind = ({ code, path }: Issue): boolean => code === 'invalid_type' && path.length === 0

/** Of several forms the one whose faults lie deepest in what was sent is the one that was meant; of equals the last. */
const nearestForm = (issue: Union): Issue[] => {
  const reach = (issues: Issue[]) =>
    issues.reduce(
      (furthest, found) => Math.max(furthest, isOtherKind(found) ? -1 : depthIn(issue.input, found.path)),
      -1,
    )
  return issue.errors.reduce<Issue[]>((best, form) => (reach(form) >= reach(best) ? form : best), [])
}

/** How the library puts it where the schema says nothing itself. */
const unsaid = /^Invalid (?:input|option)\b/

const rowsOf = (issue: Issue): FieldError[] => {
  if (issue.code === 'invalid_union') {
    const form = nearestForm(issue)
    // Without forms to compare, it was the field that tells the forms apart that fits none.
    if (form.length === 0) {
      const code = fieldAt(issue.input, issue.path) === undefined ? 'required' : 'invalid_enum'
      return [
        {
          path: pathOf(issue.path),
          code,
          message: code === 'required' ? 'Required.' : 'Takes another value.',
        },
      ]
    }
    return form.flatMap((inner) => rowsOf({ ...inner, path: [...issue.path, ...inner.path] }))
  }
  // What is wrong with the key of a map is told at that key.
  if (issue.code === 'invalid_key') {
    return issue.issues.flatMap((inner) => rowsOf({ ...inner, path: [...issue.path, ...inner.path] }))
  }
  // One row per misspelt name, at its own path, so that a client can point at it.
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...pathOf(issue.path), key],
      code: 'unrecognized',
      message: 'There is no such field.',
    }))
  }
  const code = codeOf(issue)
  const message = code === 'required' && unsaid.test(issue.message) ? 'Required.' : issue.message
  return [{ path: pathOf(issue.path), code, message }]
}

/** At most this many rows: the rest would only grow the answer to a hostile body. */
const maxRows = 100

/** The value the schema makes of the input, or VALIDATION_ERROR with a row per fault. */
export const validate = <T>(schema: z.ZodType<T>, input: unknown): T => {
  let result: z.ZodSafeParseResult<T>
  try {
    result = schema.safeParse(input, { reportInput: true })
  } catch (error) {
    if (error instanceof RangeError) throw malformed('Nested too deeply.')
    throw error
  }
  if (result.success) return result.data
  const cursorFault = result.error.issues.find((issue) => issue.code === 'custom' && issue.params?.cursor)
  if (cursorFault) throw new Failure('INVALID_CURSOR')
  throw new Failure('VALIDATION_ERROR', { errors: result.error.issues.flatMap(rowsOf).slice(0, maxRows) })
}

/** Where text stands that no table can hold; the path is only put together once there is one, since a body may hold millions of values. */
export const unstorable = (value: unknown): (string | number)[] | undefined => {
  if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed() ? [] : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = unstorable(value[i])
      if (found) return [i, ...found]
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    if (key.includes('\0') || !key.isWellFormed()) return []
    const found = unstorable((value as Record<string, unknown>)[key])
    if (found) return [key, ...found]
  }
  return undefined
}
