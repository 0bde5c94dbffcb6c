/** Converts Zod schemas to JSON Schema. Named schemas become components, and every use of one is a reference to it. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { runAtOnce, type Steps } from '../../../platform/ground/event-loop-turns.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

type Side = 'input' | 'output'
type Named = Map<string, JsonSchema>

const ownRef = '#/$defs/'
const componentRef = '#/components/schemas/'

/** Zod generates such a name for an unnamed recursive schema. Two schemas could get the same one. */
const generatedName = /^__schema\d+$/

const convert = (schema: z.ZodType, io: Side): { shape: JsonSchema; named: JsonSchema['$defs'] } => {
  // Wrapped in an array, even the outermost schema becomes a reference if it has a name.
  const { items, $defs } = z.toJSONSchema(z.array(schema), {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // Zod drops examples from the input side of a schema that transforms its value. Ours are examples of input.
      const examples = z.globalRegistry.get(zodSchema)?.examples
      if (examples) jsonSchema.examples = examples as JsonSchema['examples']
      // Responses may gain fields within a version, so their schemas allow additional properties.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
      // The limits of a safe integer say nothing about the field.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      // Zod drops the default of a field that transforms its value.
      if (io === 'input' && zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue as never
    },
  })
  return { shape: items as JsonSchema, named: $defs }
}

const nameIn = (reference: unknown): string | undefined =>
  typeof reference === 'string' && reference.startsWith(ownRef) ? reference.slice(ownRef.length) : undefined

/** A copy of the value with every reference renamed. Other strings stay as they are. */
const renamed = <T>(value: T, rename: (name: string) => string): T => {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename)) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => {
    const name = key === '$ref' ? nameIn(item) : undefined
    return [key, name === undefined ? renamed(item, rename) : componentRef + rename(name)]
  })
  return Object.fromEntries(entries) as T
}

const refersTo = (value: unknown, names: ReadonlySet<string>): boolean => {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, item]) => {
    const name = key === '$ref' ? nameIn(item) : undefined
    return name === undefined ? refersTo(item, names) : names.has(name)
  })
}

type Collected = { shapes: Map<z.ZodType, JsonSchema>; named: Named }

function* collect(schemas: Iterable<z.ZodType>, side: Side): Steps<Collected> {
  const shapes = new Map<z.ZodType, JsonSchema>()
  const named: Named = new Map()
  for (const schema of schemas) {
    if (shapes.has(schema)) continue
    yield
    const converted = convert(schema, side)
    shapes.set(schema, converted.shape)
    for (const [name, shape] of Object.entries(converted.named ?? {}) as [string, JsonSchema][]) {
      if (generatedName.test(name)) throw new Error('A recursive schema needs a name: add .meta({ id }).')
      const known = named.get(name)
      if (known && !isDeepStrictEqual(known, shape)) throw new Error(`Two different schemas are named ${name}.`)
      named.set(name, shape)
    }
  }
  return { shapes, named }
}

/** Adds names that refer to one of the given names, directly or through others. */
const withReferrers = (named: Named, names: ReadonlySet<string>): Set<string> => {
  const found = new Set(names)
  for (let before = -1; before < found.size; ) {
    before = found.size
    for (const [name, shape] of named) if (refersTo(shape, found)) found.add(name)
  }
  return found
}

const hasDefault = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false
  const { properties = {} } = value as JsonSchema
  if (Object.values(properties).some((field) => typeof field === 'object' && 'default' in field)) return true
  return Object.values(value).some(hasDefault)
}

/**
 * Request schemas with defaults, and those that refer to them. They are written out in each request body instead of
 * being components: openapi-typescript requires every field with a default unless it is inside a request body.
 */
const namesWithDefaults = (named: Named): Set<string> =>
  withReferrers(named, new Set([...named].filter(([, shape]) => hasDefault(shape)).map(([name]) => name)))

/** A copy of the value with references to these names replaced by the schemas themselves, titled with their names. */
const inlined = <T>(value: T, named: Named, names: ReadonlySet<string>, inside: readonly string[] = []): T => {
  if (Array.isArray(value)) return value.map((item) => inlined(item, named, names, inside)) as T
  if (typeof value !== 'object' || value === null) return value
  const { $ref, ...rest } = value as { $ref?: unknown }
  const name = nameIn($ref)
  if (name !== undefined && names.has(name)) {
    if (inside.includes(name)) throw new Error(`The recursive request schema ${name} cannot have defaults.`)
    return { title: name, ...inlined(named.get(name), named, names, [...inside, name]), ...rest } as T
  }
  const entries = Object.entries(value).map(([key, item]) => [key, inlined(item, named, names, inside)])
  return Object.fromEntries(entries) as T
}

/** Names whose request schema differs from their response schema, and names that refer to one of those. */
const differingNames = (requests: Named, responses: Named): Set<string> => {
  const found = new Set<string>()
  for (const [name, shape] of requests) {
    const other = responses.get(name)
    if (other && !isDeepStrictEqual(shape, other)) found.add(name)
  }
  // Only names of both sides get a second name.
  return new Set([...withReferrers(requests, found)].filter((name) => responses.has(name)))
}

export interface Shapes {
  /** The schema of a request. */
  request(schema: z.ZodType): JsonSchema
  /** The schema of a response. */
  response(schema: z.ZodType): JsonSchema
  components: Record<string, JsonSchema>
}

/** When request and response schema of a name differ, the response keeps the name and the request is `<name>Input`. */
export function* makeShapesInSteps(requests: Iterable<z.ZodType>, responses: Iterable<z.ZodType>): Steps<Shapes> {
  const input = yield* collect(requests, 'input')
  const output = yield* collect(responses, 'output')
  const writtenOut = namesWithDefaults(input.named)
  const split = differingNames(input.named, output.named)
  const inputName = (name: string): string => (split.has(name) ? `${name}Input` : name)
  const same = (name: string): string => name

  const components: Record<string, JsonSchema> = {}
  for (const [name, shape] of output.named) components[name] = renamed(shape, same)
  for (const [name, shape] of input.named) {
    if (writtenOut.has(name)) continue
    if (split.has(name) && (output.named.has(inputName(name)) || input.named.has(inputName(name)))) {
      throw new Error(`${inputName(name)} is already in use, but the request schema of ${name} needs that name.`)
    }
    components[inputName(name)] = renamed(shape, inputName)
  }

  const read = (shapes: Map<z.ZodType, JsonSchema>, schema: z.ZodType): JsonSchema => {
    const shape = shapes.get(schema)
    if (!shape) throw new Error('The schema was not passed to makeShapes.')
    return shape
  }
  return {
    request: (schema) => renamed(inlined(read(input.shapes, schema), input.named, writtenOut), inputName),
    response: (schema) => renamed(read(output.shapes, schema), same),
    components: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

export const makeShapes = (requests: Iterable<z.ZodType>, responses: Iterable<z.ZodType>): Shapes =>
  runAtOnce(makeShapesInSteps(requests, responses))

/** The schema of a request on its own, with every named schema written out where it is used. */
export const standaloneRequest = (schema: z.ZodType): JsonSchema => {
  const { shape, named = {} } = convert(schema, 'input')
  const all: Named = new Map(Object.entries(named) as [string, JsonSchema][])
  return inlined(shape, all, new Set(all.keys()))
}
