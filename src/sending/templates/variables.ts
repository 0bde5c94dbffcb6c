/** Validates `variables`: JSON values, limited in depth and size. */
import { z } from 'zod'
import { Failure, type FieldError } from '../../platform/ground/errors.ts'

/** Levels below a top-level key. Each array and each object adds one. */
export const maxDepth = 10
/** The size of all variables as UTF-8 JSON. */
export const maxBytes = 65_536
/** Each value takes at least two bytes of JSON. */
export const maxVariableValues = maxBytes / 2

type Path = FieldError['path']

const faultIn = (value: unknown, depth: number): FieldError | undefined => {
  if (typeof value === 'number' && !Number.isFinite(value)) return fault('Must be a finite number.')
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
    return fault('Must be a JSON value.')
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === maxDepth) return fault(`Must not be nested more than ${maxDepth} levels deep.`)
  for (const part of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const found = faultIn((value as Record<string | number, unknown>)[part], depth + 1)
    if (found) return { ...found, path: [part, ...found.path] }
  }
  return undefined
}

const fault = (message: string): FieldError => ({ path: [], code: 'custom', message })

/** The first error in the variables, with its path inside them. Undefined when they are valid. */
export const variablesFault = (variables: Record<string, unknown>): FieldError | undefined => {
  const found = faultIn(variables, -1)
  if (found) return found
  // Only after the depth check, because a circular value cannot be serialized.
  if (Buffer.byteLength(JSON.stringify(variables)) <= maxBytes) return undefined
  return { path: [], code: 'too_big', message: `Must be at most ${maxBytes} bytes of JSON.` }
}

/** For callers inside the service, whose values no schema has validated. */
export const assertVariables = (variables: Record<string, unknown>, at: Path = ['variables']): void => {
  const found = variablesFault(variables)
  if (!found) return
  throw new Failure('VALIDATION_ERROR', { errors: [{ ...found, path: [...at, ...found.path] }] })
}

/** Each key takes at least four bytes of JSON. */
const maxKeys = maxBytes / 4

const ValidatedVariables = z.record(z.string(), z.unknown()).superRefine((variables, context) => {
  const found = variablesFault(variables)
  if (!found) return
  const { path, message } = found
  if (found.code === 'custom') context.addIssue({ code: 'custom', path, message })
  else context.addIssue({ code: 'too_big', origin: 'string', maximum: maxBytes, path, message })
})

export const variablesText =
  'The values of the placeholders of the template, as JSON: up to 65,536 bytes and 10 levels deep.'

/** The `variables` field of sends and previews. An object with too many keys is rejected before its values are read. */
export const VariablesShape = z.preprocess(
  (value, context) => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length <= maxKeys) return value
    const message = `Must be at most ${maxBytes} bytes of JSON.`
    context.addIssue({ code: 'too_big', origin: 'string', maximum: maxBytes, input: value, message })
    return z.NEVER
  },
  ValidatedVariables.meta({ maxProperties: maxKeys }),
)
