/** Zod schemas as JSON Schema: the named ones once, as components, and every use of one a reference to it. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'

export type JsonSchema = z.core.JSONSchema.BaseSchema

type Side = 'input' | 'output'
type Named = Map<string, JsonSchema>

const ownRef = '#/$defs/'
const componentRef = '#/components/schemas/'

/** Whatever Zod invents a name for refers to itself; two such names from two schemas would be confused. */
const inventedName = /^__schema\d+$/

const convert = (schema: z.ZodType, io: Side): { shape: JsonSchema; named: JsonSchema['$defs'] } => {
  // As the item of a list even the outermost schema is a reference when it has a name.
  const { items, $defs } = z.toJSONSchema(z.array(schema), {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // Zod keeps examples from the side that is sent when the schema changes the value; they are of what is sent.
      const examples = z.globalRegistry.get(zodSchema)?.examples
      if (examples) jsonSchema.examples = examples as JsonSchema['examples']
      // Answers may gain members within a version, so that none of them is closed.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    },
  })
  return { shape: items as JsonSchema, named: $defs }
}

const nameIn = (reference: unknown): string | undefined =>
  typeof reference === 'string' && reference.startsWith(ownRef) ? reference.slice(ownRef.length) : undefined

/** The same value with each reference renamed; other text is left alone. */
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

const collect = (schemas: Iterable<z.ZodType>, side: Side) => {
  const shapes = new Map<z.ZodType, JsonSchema>()
  const named: Named = new Map()
  for (const schema of schemas) {
    if (shapes.has(schema)) continue
    const converted = convert(schema, side)
    shapes.set(schema, converted.shape)
    for (const [name, shape] of Object.entries(converted.named ?? {}) as [string, JsonSchema][]) {
      if (inventedName.test(name)) throw new Error('a schema that refers to itself needs a name: .meta({ id })')
      const known = named.get(name)
      if (known && !isDeepStrictEqual(known, shape)) throw new Error(`two schemas are named ${name}`)
      named.set(name, shape)
    }
  }
  return { shapes, named }
}

/** Names that mean one thing in what is sent and another in what is answered, and whatever refers to one. */
const twoFaced = (sent: Named, answered: Named): Set<string> => {
  const found = new Set<string>()
  for (const [name, shape] of sent) {
    const other = answered.get(name)
    if (other && !isDeepStrictEqual(shape, other)) found.add(name)
  }
  for (let before = -1; before < found.size; ) {
    before = found.size
    for (const [name, shape] of sent) if (answered.has(name) && refersTo(shape, found)) found.add(name)
  }
  return found
}

export interface Shapes {
  /** What a caller sends. */
  sent(schema: z.ZodType): JsonSchema
  /** What the service answers. */
  answered(schema: z.ZodType): JsonSchema
  components: Record<string, JsonSchema>
}

/** A name whose two sides differ keeps it for the answer; what is sent is then called `<name>Input`. */
export const makeShapes = (sent: Iterable<z.ZodType>, answered: Iterable<z.ZodType>): Shapes => {
  const [input, output] = [collect(sent, 'input'), collect(answered, 'output')]
  const split = twoFaced(input.named, output.named)
  const inputName = (name: string): string => (split.has(name) ? `${name}Input` : name)
  const same = (name: string): string => name

  const components: Record<string, JsonSchema> = {}
  for (const [name, shape] of output.named) components[name] = renamed(shape, same)
  for (const [name, shape] of input.named) {
    if (split.has(name) && (output.named.has(inputName(name)) || input.named.has(inputName(name)))) {
      throw new Error(`${inputName(name)} is needed as the name of what is sent as ${name}`)
    }
    components[inputName(name)] = renamed(shape, inputName)
  }

  const read = (shapes: Map<z.ZodType, JsonSchema>, schema: z.ZodType, rename: (name: string) => string) => {
    const shape = shapes.get(schema)
    if (!shape) throw new Error('a schema was not collected')
    return renamed(shape, rename)
  }
  return {
    sent: (schema) => read(input.shapes, schema, inputName),
    answered: (schema) => read(output.shapes, schema, same),
    components: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}
