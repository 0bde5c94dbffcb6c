/** Walks a request schema and finds the values in it that have no bound. */
import { z } from 'zod'

/** The name of a field, 0 for the elements of a list, and `(key)` or `(value)` for those of a map. */
export type Step = string | 0

export type SchemaNode = {
  path: Step[]
  schema: z.core.$ZodTypes
  /** The schema that sees the value first: the node itself, or the preprocessing around it. */
  outer: z.ZodType
}

const leaves = new Set([
  'string',
  'number',
  'boolean',
  'enum',
  'literal',
  'never',
  'null',
  'unknown',
  'any',
  'transform',
])

/** The parts of a schema, each with its steps. A kind of schema that is not known here fails, so that none is missed. */
const partsOf = ({ _zod: { def } }: z.core.$ZodTypes): [Step[], z.core.$ZodType][] => {
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
      return [[[], def.innerType]]
    case 'pipe':
      return [
        [[], def.in],
        [[], def.out],
      ]
    case 'intersection':
      return [
        [[], def.left],
        [[], def.right],
      ]
    case 'array':
      return [[[0], def.element]]
    case 'object':
      return [
        ...Object.entries(def.shape).map(([name, field]): [Step[], z.core.$ZodType] => [[name], field]),
        ...(def.catchall ? [[['(value)'], def.catchall] as [Step[], z.core.$ZodType]] : []),
      ]
    case 'record':
      return [
        [['(key)'], def.keyType],
        [['(value)'], def.valueType],
      ]
    case 'union':
      return def.options.map((option) => [[], option])
    default:
      if (leaves.has(def.type)) return []
      throw new Error(`The walk does not know schemas of type ${def.type}.`)
  }
}

/** Every schema inside a schema, itself included. */
export const nodesOf = (schema: z.core.$ZodType, path: Step[] = [], outer = schema): SchemaNode[] => {
  const own = schema as z.core.$ZodTypes
  const { def } = own._zod
  const preprocessed = def.type === 'pipe' && def.in._zod.def.type === 'transform'
  return [
    { path, schema: own, outer: outer as z.ZodType },
    ...partsOf(own).flatMap(([steps, part]) =>
      nodesOf(part, [...path, ...steps], preprocessed && part === def.out ? outer : part),
    ),
  ]
}

type SizeCheck = { check: string; maximum?: number }

const checksOf = ({ schema }: SchemaNode): SizeCheck[] =>
  (schema._zod.def.checks ?? []).map((check) => check._zod.def as SizeCheck)

const longest = (node: SchemaNode): number | undefined =>
  checksOf(node).find(({ check }) => check === 'max_length')?.maximum

/** Reports how many elements or values were read, and what was refused. */
const readsOf = (schema: z.ZodType, large: object): { reads: number; codes: string[] } => {
  let reads = 0
  const watched = new Proxy(large, {
    get: (target, name) => {
      if (Object.hasOwn(target, name) && name !== 'length') reads++
      return Reflect.get(target, name)
    },
  })
  const { error } = schema.safeParse(watched)
  return { reads, codes: error?.issues.map(({ code }) => code) ?? [] }
}

const faultOfList = (node: SchemaNode): string | undefined => {
  const maximum = longest(node)
  if (maximum === undefined) return 'a list without a maximum length'
  const { reads, codes } = readsOf(node.outer, new Array(maximum + 1).fill(1))
  return reads === 0 && codes.join() === 'too_big' ? undefined : 'a list that reads elements before its length'
}

const faultOfMap = ({ schema, outer }: SchemaNode): string | undefined => {
  const maximum = z.globalRegistry.get(schema)?.maxProperties
  if (typeof maximum !== 'number') return 'a map without a maximum number of keys'
  const large = Object.fromEntries(Array.from({ length: maximum + 1 }, (_, i) => [`k${i}`, 1]))
  const { reads, codes } = readsOf(outer, large)
  return reads === 0 && codes.length === 1 ? undefined : 'a map that reads values before it counts them'
}

const faultOfNumber = (node: SchemaNode): string | undefined => {
  const checks = checksOf(node).map(({ check }) => check)
  return checks.includes('greater_than') && checks.includes('less_than') ? undefined : 'a number without both bounds'
}

/** What is unbounded about a node; undefined for a bounded one. */
export const unbounded = (node: SchemaNode): string | undefined => {
  switch (node.schema._zod.def.type) {
    case 'array':
      return faultOfList(node)
    case 'record':
      return faultOfMap(node)
    case 'number':
      return faultOfNumber(node)
    case 'string':
      return longest(node) !== undefined ? undefined : 'a text without a maximum length'
    case 'unknown':
    case 'any':
      return 'a value of any kind'
    default:
      return undefined
  }
}
