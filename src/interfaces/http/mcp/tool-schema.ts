/** The input schema of a tool: one flat object with the path parameter, the query and the body of its route. */
import type { z } from 'zod'
import { idPattern } from '../../../platform/ground/ids.ts'
import { type JsonSchema, standaloneRequest } from '../openapi/shapes.ts'
import type { PublicRoute } from '../route.ts'

type ObjectSchema = { properties: Record<string, JsonSchema>; required: string[] }

/** The parameters of a path other than `id` keep their names. */
export const pathParameters = ({ path }: Pick<PublicRoute, 'path'>): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)

/** Examples and titles make the list of tools several times longer and say nothing that the descriptions do not. */
const withoutExamples = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withoutExamples)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema)
    .filter(
      ([name, value]) =>
        !(name === 'examples' && Array.isArray(value)) && !(name === 'title' && typeof value === 'string'),
    )
    .map(([name, value]) => [name, withoutExamples(value)])
  return Object.fromEntries(entries)
}

const merged = (one: JsonSchema | undefined, other: JsonSchema): JsonSchema => {
  if (one === undefined || JSON.stringify(one) === JSON.stringify(other)) return other
  const choices = [...(one.anyOf ?? [one]), ...(other.anyOf ?? [other])] as JsonSchema[]
  const distinct = [...new Map(choices.map((choice) => [JSON.stringify(choice), choice])).values()]
  return { anyOf: distinct } as JsonSchema
}

/**
 * Models take only an object at the top. The alternatives of a union become one object: every property, and as required
 * those that all alternatives require. Lists are left out. The API itself still checks the exact shape.
 */
const flattened = (schema: JsonSchema): ObjectSchema | undefined => {
  const choices = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined
  if (!choices) {
    if (schema.type !== 'object') return undefined
    return {
      properties: (schema.properties ?? {}) as Record<string, JsonSchema>,
      required: (schema.required ?? []) as string[],
    }
  }
  const objects = choices.map(flattened).filter((choice) => choice !== undefined)
  const properties: Record<string, JsonSchema> = {}
  for (const choice of objects) {
    for (const [name, property] of Object.entries(choice.properties)) {
      properties[name] = merged(properties[name], property)
    }
  }
  const [first, ...others] = objects
  const required = (first?.required ?? []).filter((name) => others.every((other) => other.required.includes(name)))
  return { properties, required }
}

const fieldsOf = (schema: z.ZodType | undefined): ObjectSchema =>
  (schema && flattened(withoutExamples(standaloneRequest(schema)) as JsonSchema)) ?? { properties: {}, required: [] }

const idempotencyKey = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description: 'Makes a repeated call take effect once. Pass the same value again when you retry.',
}

/** The names of the arguments that are sent in the query. */
export const queryFields = ({ query }: PublicRoute): Set<string> => new Set(Object.keys(fieldsOf(query).properties))

export const toolSchema = (route: PublicRoute): { type: 'object'; [key: string]: unknown } => {
  const query = fieldsOf(route.query)
  // The fields of a change are sent in its body, except where the query takes the same ones.
  const body =
    route.method === 'DELETE' && route.query
      ? { properties: {}, required: [] }
      : fieldsOf(route.describedBody ?? route.body)
  const ids = pathParameters(route).map((name) => {
    const kind = route.params?.[name]
    return [
      name,
      { type: 'string', maxLength: 100, ...(kind && { description: `The id, such as \`${example(kind)}\`.` }) },
    ]
  })
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(ids),
      ...query.properties,
      ...body.properties,
      ...(route.idempotent && { idempotency_key: idempotencyKey }),
    },
    required: [...pathParameters(route), ...query.required, ...body.required],
  }
}

const example = (kind: Parameters<typeof idPattern>[0]): string =>
  idPattern(kind).replace(/^\^(?:\(\?:)?(\w+?)[_|].*$/, '$1_…')
