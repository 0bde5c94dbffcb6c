/** What `variables` may hold: JSON, no deeper and no larger than a template can use. */
import { z } from 'zod'
import { Failure, type FieldError } from '../ground/errors.ts'

/** Levels below a top-level key; each array and each object is one. */
export const maxDepth = 10
/** Of the whole as UTF-8 JSON. */
export const maxBytes = 65_536

type Path = FieldError['path']

const faultIn = (value: unknown, depth: number): FieldError | undefined => {
  if (typeof value === 'number' && !Number.isFinite(value)) return fault('Takes finite numbers only.')
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
    return fault('Takes JSON values only.')
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === maxDepth) return fault(`Nests more than ${maxDepth} levels deep.`)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = faultIn(value[i], depth + 1)
      if (found) return below(i, found)
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    const found = faultIn((value as Record<string, unknown>)[key], depth + 1)
    if (found) return below(key, found)
  }
  return undefined
}

const fault = (message: string): FieldError => ({ path: [], code: 'custom', message })
const below = (part: string | number, found: FieldError): FieldError => ({
  ...found,
  path: [part, ...found.path],
})

/** The first thing wrong with the variables, at its path below them; undefined when nothing is. */
export const variablesFault = (variables: Record<string, unknown>): FieldError | undefined => {
  for (const key of Object.keys(variables)) {
    const found = faultIn(variables[key], 0)
    if (found) return below(key, found)
  }
  // Only now: what nests without end cannot be written down.
  if (Buffer.byteLength(JSON.stringify(variables)) <= maxBytes) return undefined
  return { path: [], code: 'too_big', message: `Takes at most ${maxBytes} bytes of JSON.` }
}

/** For callers inside the service, whose values no schema has seen. */
export const assertVariables = (variables: Record<string, unknown>, at: Path = ['variables']): void => {
  const found = variablesFault(variables)
  if (!found) return
  throw new Failure('VALIDATION_ERROR', { errors: [{ ...found, path: [...at, ...found.path] }] })
}

const Checked = z.record(z.string(), z.unknown()).superRefine((variables, context) => {
  const found = variablesFault(variables)
  if (!found) return
  const { path, message } = found
  if (found.code === 'custom') context.addIssue({ code: 'custom', path, message })
  else context.addIssue({ code: 'too_big', origin: 'string', maximum: maxBytes, path, message })
})

/** The field as every body that sends or previews takes it. So many keys that no size allows them are not looked into. */
export const VariablesShape = z.preprocess((value, context) => {
  const fewest = typeof value === 'object' && value !== null ? Object.keys(value).length * 4 : 0
  if (fewest <= maxBytes) return value
  const message = `Takes at most ${maxBytes} bytes of JSON.`
  context.addIssue({ code: 'too_big', origin: 'string', maximum: maxBytes, input: value, message })
  return z.NEVER
}, Checked)
