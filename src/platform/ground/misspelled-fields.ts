/**
 * Finds unknown fields that are no accident: those whose name is that of a known field in another spelling, such as
 * `replyTo` for `reply_to`, and those that the schema refuses by name. The names of a schema are collected once. Of the
 * input, only objects that the schema describes are visited.
 */
import type { z } from 'zod'
import type { FieldError } from './errors.ts'
import { refusedFields } from './refused-fields.ts'
import { checkDefOf, defOf, type Schema } from './zod-internals.ts'

type Path = (string | number)[]

/** The names that can occur in a value. A union has the names of all its forms. */
type Names = {
  /** The fields of an object, each with the names in its value, or null when the value has none. */
  fields: Map<string, Names | null>
  /** The name of each field, by its spelling without case and underscores. */
  spellings: Map<string, string>
  /** The message for each refused field, by its spelling without case and underscores. */
  refused: Map<string, string>
  /** The names in the elements of a list, with the length above which the schema refuses the list. */
  elements: Names | undefined
  maxElements: number
  /** The names in the values of a map. */
  values: Names | undefined
}

/** A longer name is not compared. Reading it would take time, and it is not the result of a slip. */
const maxNameLength = 128

const spellingOf = (name: string): string => name.toLowerCase().replaceAll('_', '')

const noNames = (): Names => ({
  fields: new Map(),
  spellings: new Map(),
  refused: new Map(),
  elements: undefined,
  maxElements: 0,
  values: undefined,
})

const merged = (one: Names | null | undefined, other: Names | null | undefined): Names | undefined => {
  if (!one || !other) return one ?? other ?? undefined
  const fields = new Map(one.fields)
  for (const [name, inner] of other.fields) fields.set(name, merged(fields.get(name), inner) ?? null)
  return {
    fields,
    spellings: new Map([...one.spellings, ...other.spellings]),
    refused: new Map([...one.refused, ...other.refused]),
    elements: merged(one.elements, other.elements),
    maxElements: Math.max(one.maxElements, other.maxElements),
    values: merged(one.values, other.values),
  }
}

const maxLengthOf = (schema: Schema): number => {
  for (const def of (defOf(schema).checks ?? []).map(checkDefOf)) if (def.check === 'max_length') return def.maximum
  return Number.POSITIVE_INFINITY
}

/** An object that accepts further fields of any name has no misspelled ones. */
const isOpen = (catchall: Schema | undefined): boolean => catchall !== undefined && defOf(catchall).type !== 'never'

const namesOfObject = (object: Schema, { shape, catchall }: z.core.$ZodObjectDef): Names => {
  const refused = refusedFields.get(object) ?? {}
  const names = noNames()
  for (const [name, field] of Object.entries(shape)) {
    names.fields.set(name, collectNames(field) ?? null)
    if (!isOpen(catchall)) names.spellings.set(spellingOf(name), name)
  }
  for (const [name, message] of Object.entries(refused)) names.refused.set(spellingOf(name), message)
  return names
}

/** Undefined when the value cannot contain a named field. */
const collectNames = (schema: Schema): Names | undefined => {
  const def = defOf(schema)
  switch (def.type) {
    case 'object':
      return namesOfObject(schema, def)
    case 'array': {
      const elements = collectNames(def.element)
      return elements && { ...noNames(), elements, maxElements: maxLengthOf(schema) }
    }
    case 'record': {
      const values = collectNames(def.valueType)
      return values && { ...noNames(), values }
    }
    case 'union':
      return def.options.map(collectNames).reduce(merged, undefined)
    case 'intersection':
      return merged(collectNames(def.left), collectNames(def.right))
    case 'pipe':
      // What comes out of a transformation is not what the caller wrote, except where the input is only checked first.
      return collectNames(defOf(def.in).type === 'transform' ? def.out : def.in)
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return collectNames(def.innerType)
    default:
      return undefined
  }
}

type Search = { rows: FieldError[]; maxRows: number; path: Path }

const visitInner = (names: Names, input: unknown, step: string | number, search: Search): void => {
  if (typeof input !== 'object' || input === null) return
  search.path.push(step)
  visit(names, input, search)
  search.path.pop()
}

const compareName = ({ spellings, refused }: Names, name: string, { rows, maxRows, path }: Search): void => {
  if (name.length > maxNameLength || rows.length === maxRows) return
  const spelling = spellingOf(name)
  const known = spellings.get(spelling)
  const message = known === undefined ? refused.get(spelling) : `Unknown field. Did you mean ${known}?`
  if (message !== undefined) rows.push({ path: [...path, name], code: 'unrecognized', message })
}

const visit = (names: Names, input: object, search: Search): void => {
  const { fields, elements, maxElements, values } = names
  if (Array.isArray(input)) {
    if (!elements || input.length > maxElements) return
    for (let i = 0; i < input.length; i++) visitInner(elements, input[i], i, search)
    return
  }
  const object = input as Record<string, unknown>
  for (const name in object) {
    const inner = fields.get(name)
    if (inner === undefined) compareName(names, name, search)
    else if (inner !== null) visitInner(inner, object[name], name, search)
    if (values) visitInner(values, object[name], name, search)
  }
}

const collected = new WeakMap<Schema, Names | null>()

const namesIn = (schema: Schema): Names | null => {
  let names = collected.get(schema)
  if (names === undefined) {
    names = collectNames(schema) ?? null
    collected.set(schema, names)
  }
  return names
}

/** One row for each misspelled or refused field, at its own path and with the right name or what to do instead. */
export const misspelledFields = (schema: Schema, input: unknown, maxRows: number): FieldError[] => {
  const names = namesIn(schema)
  const rows: FieldError[] = []
  if (names && typeof input === 'object' && input !== null) visit(names, input, { rows, maxRows, path: [] })
  return rows
}
