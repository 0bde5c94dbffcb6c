/** Generates the largest bodies that a schema allows, and bodies with one member that is far too large. */
import type { Resolve, Schema } from '../hostile/values.ts'

/** A small generator of pseudo-random numbers (mulberry32), so that a run can be repeated. */
export const makeRandom = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export type Generate = { resolve: Resolve; random: () => number; budget: number }

const pick = <T>(items: readonly T[], random: () => number): T => items[Math.floor(random() * items.length)] as T

/** Texts that make a careless pattern backtrack, or a parser find something at every character. */
export const textUnits = ['a', ' ', '@', '<a href="http://x.test/">', '{{a}}', '\\', '"', '.', '0', 'é', '\u0001', '-a']

const text = (schema: Schema, generate: Generate): string => {
  const { random } = generate
  if (Array.isArray(schema.examples) && random() < 0.8) return String(pick(schema.examples, random))
  const length = Math.max(0, Math.min(Number(schema.maxLength ?? 200_000), generate.budget))
  const unit = pick(textUnits, random)
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
}

const list = (schema: Schema, generate: Generate, depth: number): unknown[] => {
  const items: unknown[] = []
  const most = Number(schema.maxItems ?? 1_000)
  while (items.length < most && generate.budget > 0) {
    items.push(largestValue((schema.items ?? {}) as Schema, generate, depth + 1))
    generate.budget -= 1
  }
  return items
}

const object = (schema: Schema, generate: Generate, depth: number): Record<string, unknown> => {
  const made: Record<string, unknown> = {}
  for (const [name, field] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
    if (!('not' in field)) made[name] = largestValue(field, generate, depth + 1)
  }
  const further = schema.additionalProperties
  if (typeof further === 'object' && further !== null) {
    const most = Number(schema.maxProperties ?? 200)
    for (let n = 0; n < most && generate.budget > 0; n++) {
      made[`name-${n}`] = largestValue(further as Schema, generate, depth + 1)
      generate.budget -= 8
    }
  }
  return made
}

/** A value that is as large as the schema and the budget (in bytes) allow, and mostly valid. */
export const largestValue = (schema: Schema, generate: Generate, depth = 0): unknown => {
  const { resolve, random } = generate
  if (depth > 12) return null
  if (typeof schema.$ref === 'string') return largestValue(resolve(schema.$ref), generate, depth)
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return pick(schema.enum, random)
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (choices) return largestValue(pick(choices, random), generate, depth)
  if (Array.isArray(schema.allOf)) {
    return Object.assign({}, ...(schema.allOf as Schema[]).map((part) => largestValue(part, generate, depth)))
  }
  const type = Array.isArray(schema.type) ? pick(schema.type as string[], random) : schema.type
  if (type === 'string') {
    const made = text(schema, generate)
    generate.budget -= made.length
    return made
  }
  if (type === 'integer' || type === 'number') return Number(schema.maximum ?? schema.minimum ?? 1)
  if (type === 'boolean') return random() < 0.5
  if (type === 'array') return list(schema, generate, depth)
  if (type === 'object') return object(schema, generate, depth)
  return null
}

/** The names of the members of a body at its top level, in every form that it may have. */
export const memberNames = (schema: Schema | undefined, resolve: Resolve, type: string): string[] => {
  if (!schema) return []
  if (typeof schema.$ref === 'string') return memberNames(resolve(schema.$ref), resolve, type)
  const forms = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (list ?? []) as Schema[])
  const own = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
    .filter(([, field]) => accepts(field, resolve, type))
    .map(([name]) => name)
  return [...new Set([...own, ...forms.flatMap((form) => memberNames(form, resolve, type))])]
}

const accepts = (schema: Schema, resolve: Resolve, type: string): boolean => {
  if (typeof schema.$ref === 'string') return accepts(resolve(schema.$ref), resolve, type)
  if (schema.type === type || (Array.isArray(schema.type) && schema.type.includes(type))) return true
  return [schema.anyOf, schema.oneOf, schema.allOf]
    .flatMap((list) => (list ?? []) as Schema[])
    .some((form) => accepts(form, resolve, type))
}
