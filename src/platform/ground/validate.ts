/** Validates input against a schema. Invalid input fails with VALIDATION_ERROR and one row per fault. */
import type { z } from 'zod'
import { readerOf, undecided } from './compile-schema.ts'
import { Failure, type FieldError, malformed } from './errors.ts'
import { misspelledFields } from './misspelled-fields.ts'
import { completeIssue, runSchema } from './zod-internals.ts'

type Issue = z.core.$ZodIssue

const codeOf = (issue: Issue): string => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'required' : issue.code
    case 'invalid_value':
      return issue.input === undefined ? 'required' : 'invalid_enum'
    case 'too_small':
    case 'too_big':
      return issue.code
    case 'invalid_format':
      return 'invalid_string'
    default:
      // A check of our own can name its fault.
      return issue.code === 'custom' && typeof issue.params?.code === 'string' ? issue.params.code : 'custom'
  }
}

const pathOf = (path: PropertyKey[]): (string | number)[] =>
  path.map((part) => (typeof part === 'number' ? part : String(part)))

/** The value at the last part of the path, when the input is the object that contains it. */
const fieldAt = (input: unknown, path: PropertyKey[]): unknown => {
  const name = path.at(-1)
  return typeof input === 'object' && input !== null && name !== undefined
    ? (input as Record<PropertyKey, unknown>)[name]
    : input
}

type Union = Extract<Issue, { code: 'invalid_union' }>

/** How many parts of the path exist in the input. */
const depthIn = (input: unknown, path: PropertyKey[]): number => {
  let value = input
  for (const [depth, part] of path.entries()) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return depth
    value = (value as Record<PropertyKey, unknown>)[part]
  }
  return path.length
}

/** The input is of another kind, such as a list instead of an object, so it has nothing in common with this form. */
const isOtherKind = ({ code, path }: Issue): boolean => code === 'invalid_type' && path.length === 0

/** The form that the caller most likely meant: the one whose faults are deepest in the input, and the last of equals. */
const nearestForm = (issue: Union): Issue[] => {
  const reach = (issues: Issue[]) =>
    // Zod also checks the length of a list where it expects a text, so there can be further issues.
    issues.some(isOtherKind)
      ? -1
      : issues.reduce((furthest, found) => Math.max(furthest, depthIn(issue.input, found.path)), -1)
  return issue.errors.reduce<Issue[]>((best, form) => (reach(form) >= reach(best) ? form : best), [])
}

/** The library's own message, for a schema without one. */
const defaultMessage = /^Invalid (?:input|option)\b/

/** More rows would only make the response to a hostile body larger. */
const maxRows = 100

/** Makes each row when it is taken, so that rows beyond the limit cost nothing. */
const rowsOf = (issue: Issue): Iterable<FieldError> => {
  if (issue.code === 'invalid_union') {
    const form = nearestForm(issue)
    // There are no forms to compare when the field that selects the form has no known value.
    if (form.length === 0) {
      const path = pathOf(issue.path)
      return fieldAt(issue.input, issue.path) === undefined
        ? [{ path, code: 'required', message: 'Required.' }]
        : [{ path, code: 'invalid_enum', message: 'Must be one of the accepted values.' }]
    }
    return form.values().flatMap((inner) => rowsOf({ ...inner, path: [...issue.path, ...inner.path] }))
  }
  // A fault in the key of a map is reported at that key.
  if (issue.code === 'invalid_key') {
    return issue.issues.values().flatMap((inner) => rowsOf({ ...inner, path: [...issue.path, ...inner.path] }))
  }
  // One row per unknown field, at its own path, so that a client can mark the field.
  if (issue.code === 'unrecognized_keys') {
    const path = pathOf(issue.path)
    return issue.keys.values().map((key) => ({ path: [...path, key], code: 'unrecognized', message: 'Unknown field.' }))
  }
  const code = codeOf(issue)
  const message = code === 'required' && defaultMessage.test(issue.message) ? 'Required.' : issue.message
  return [{ path: pathOf(issue.path), code, message }]
}

const parse = <T>(schema: z.ZodType<T>, input: unknown): z.core.ParsePayload<T> => {
  try {
    return runSchema(schema, input)
  } catch (error) {
    if (error instanceof RangeError) throw malformed('Nested too deeply.')
    throw error
  }
}

/** The rows of the issues. Leaves out unknown fields that already have a row with the right name. */
const otherRows = (issues: z.core.$ZodRawIssue[], misspelled: FieldError[]): Iterable<FieldError> => {
  const rows = issues.values().map(completeIssue).flatMap(rowsOf)
  if (misspelled.length === 0) return rows
  const known = new Set(misspelled.map(({ path }) => JSON.stringify(path)))
  return rows.filter(({ code, path }) => code !== 'unrecognized' || !known.has(JSON.stringify(path)))
}

/**
 * Returns the parsed value. Valid input usually takes the compiled form of the schema, which is several times faster.
 * A misspelled field is refused even where the schema ignores unknown fields, because the caller expects its effect.
 */
export const validate = <T>(schema: z.ZodType<T>, input: unknown): T => {
  const misspelled = misspelledFields(schema, input, maxRows)
  if (misspelled.length === 0) {
    const read = readerOf(schema)(input)
    if (read !== undecided) return read
  }
  const { value, issues } = parse(schema, input)
  if (issues.length === 0 && misspelled.length === 0) return value
  const cursorFault = issues.find((issue) => issue.code === 'custom' && issue.params?.cursor)
  if (cursorFault) throw new Failure('INVALID_CURSOR')
  throw new Failure('VALIDATION_ERROR', {
    errors: [...misspelled, ...Iterator.from(otherRows(issues, misspelled)).take(maxRows - misspelled.length)],
  })
}

/**
 * The path of a text that PostgreSQL cannot store. The path is built only once such a text is found, because a body may
 * contain millions of values.
 */
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
