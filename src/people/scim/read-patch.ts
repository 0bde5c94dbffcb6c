/** Reads the operations of a PATCH as Okta and Entra ID send them. */
import { invalidScimValue, ScimFault } from './scim-fault.ts'
import { plainAttribute, readPath, type ScimPath } from './scim-filter.ts'

export type PatchOperation = ScimPath & {
  op: 'add' | 'replace' | 'remove'
  value: unknown
  /** Whether the path of the operation names the attribute. Without a path, its value does. */
  named: boolean
}

const maxOperations = 1_000

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Attribute names have no case. */
export const attributesOf = (value: Record<string, unknown>): Map<string, unknown> =>
  new Map(Object.entries(value).map(([name, inside]) => [plainAttribute(name), inside]))

const syntax = (detail: string): ScimFault => new ScimFault(400, detail, 'invalidSyntax')

const isOp = (text: string): text is PatchOperation['op'] => ['add', 'replace', 'remove'].includes(text)

const readOperation = (given: unknown): PatchOperation[] => {
  if (!isObject(given)) throw syntax('An operation must be an object.')
  const members = attributesOf(given)
  const verb = members.get('op')
  const op = typeof verb === 'string' ? verb.toLowerCase() : ''
  if (!isOp(op)) throw syntax('The op of an operation must be add, replace or remove.')
  const path = members.get('path')
  const value = members.get('value')
  if (typeof path === 'string' && path !== '') return [{ op, ...readPath(path), value, named: true }]
  if (path !== undefined && path !== null && path !== '')
    throw new ScimFault(400, 'A path must be a text.', 'invalidPath')
  if (op === 'remove') throw new ScimFault(400, 'An operation that removes needs a path.', 'noTarget')
  if (!isObject(value)) throw invalidScimValue('Without a path, the value of an operation must be an object.')
  return [...attributesOf(value)].map(([attribute, inside]) => ({
    op,
    attribute,
    conditions: undefined,
    value: inside,
    named: false,
  }))
}

export const readPatch = (body: unknown): PatchOperation[] => {
  const operations = isObject(body) ? attributesOf(body).get('operations') : undefined
  if (!Array.isArray(operations) || operations.length === 0) throw syntax('Operations must be a list of operations.')
  if (operations.length > maxOperations) throw syntax(`A request can have at most ${maxOperations} operations.`)
  return operations.flatMap(readOperation)
}

/** Entra ID also sends a single value as a list with one object. */
export const singleValue = (value: unknown): unknown => {
  if (!Array.isArray(value)) return value
  const [only] = value
  return value.length === 1 && isObject(only) && 'value' in only ? only.value : value
}

export const readText = (value: unknown, name: string, max: number): string => {
  if (typeof value !== 'string') throw invalidScimValue(`${name} must be a text.`)
  if (value.length > max) throw invalidScimValue(`${name} must be at most ${max} characters.`)
  return value
}

/** Null and the empty text both mean that there is no value. */
export const readOptionalText = (value: unknown, name: string, max: number): string | null =>
  value === undefined || value === null || value === '' ? null : readText(value, name, max)

/** Entra ID sends "True" and "False". */
export const readFlag = (value: unknown, name: string): boolean => {
  if (typeof value === 'boolean') return value
  if (typeof value === 'string' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true'
  throw invalidScimValue(`${name} must be true or false.`)
}
