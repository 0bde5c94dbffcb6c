/** Finds what the API description lacks for readers and for generated clients. Each fault says how to fix it. */
import type { OpenApiDocument } from '../../src/interfaces/http/openapi.ts'
import type { PublicRoute } from '../../src/interfaces/http/route.ts'

type Schema = {
  $ref?: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  minimum?: number
  maximum?: number
  [keyword: string]: unknown
}

type Visit = (schema: Schema, at: string) => string[]

const below = (schema: Schema): [string, unknown][] => [
  ...Object.entries(schema.properties ?? {}).map(([name, field]): [string, unknown] => [`.${name}`, field]),
  ...(['items', 'additionalProperties', 'not'] as const).map((key): [string, unknown] => ['[]', schema[key]]),
  ...(['anyOf', 'oneOf', 'allOf'] as const).flatMap((key) =>
    ((schema[key] as Schema[] | undefined) ?? []).map((part): [string, unknown] => ['', part]),
  ),
]

const walkSchema = (schema: unknown, at: string, visit: Visit): string[] => {
  if (typeof schema !== 'object' || schema === null) return []
  const inside = below(schema as Schema).flatMap(([step, part]) => walkSchema(part, at + step, visit))
  return [...visit(schema as Schema, at), ...inside]
}

export const operationsOf = (document: OpenApiDocument) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )

type Content = { content?: Record<string, { schema: unknown; examples?: object }> }

/** A response has one media type: JSON, or that of a file. */
const onlyMedia = ({ content = {} }: Content) => Object.values(content)[0]

/** Every schema of the document, with a name for messages. References are not followed: components are listed too. */
const schemasOf = (document: OpenApiDocument): { at: string; side: 'request' | 'response'; schema: unknown }[] => [
  ...Object.entries(document.components.schemas).map(([at, schema]) => ({ at, side: 'response' as const, schema })),
  ...operationsOf(document).flatMap(({ method, path, operation }) => [
    {
      at: `${method} ${path} body`,
      side: 'request' as const,
      schema: operation.requestBody?.content['application/json'].schema,
    },
    ...Object.entries(operation.responses).map(([status, response]) => ({
      at: `${method} ${path} ${status}`,
      side: 'response' as const,
      schema: onlyMedia(response as Content)?.schema,
    })),
  ]),
  ...Object.entries(document.webhooks).map(([event, { post }]) => ({
    at: `the event ${event}`,
    side: 'response' as const,
    schema: post.requestBody?.content['application/json'].schema,
  })),
]

const undescribed: Visit = ({ properties = {} }, at) =>
  Object.entries(properties)
    .filter(([, field]) => !field.description)
    .map(([name]) => `${at}.${name} has no description. Add .describe('…') to the field in its schema.`)

const meaninglessBounds: Visit = ({ minimum = 0, maximum = 0 }, at) =>
  Math.min(minimum, -maximum) <= -Number.MAX_SAFE_INTEGER
    ? [`${at} has the bound of a safe integer. Set a bound that means something, or none.`]
    : []

const requiredDefaults: Visit = ({ properties = {}, required = [] }, at) =>
  required
    .filter((name) => properties[name] && 'default' in properties[name])
    .map((name) => `${at}.${name} has a default and is required. A caller must be able to omit it.`)

const defaultsInComponents = (document: OpenApiDocument): string[] =>
  Object.entries(document.components.schemas).flatMap(([component, schema]) =>
    walkSchema(schema, component, ({ properties = {} }, at) =>
      Object.entries(properties)
        .filter(([, field]) => 'default' in field)
        .map(([name]) => `${at}.${name} has a default outside of a request body. Generated clients would require it.`),
    ),
  )

const parameterFaults = (document: OpenApiDocument): string[] =>
  operationsOf(document).flatMap(({ method, path, operation }) =>
    (operation.parameters ?? []).flatMap((parameter) => {
      if ('$ref' in parameter || parameter.description) return []
      return [`${method} ${path} ?${parameter.name} has no description. Add .describe('…') to it.`]
    }),
  )

const hasExamples = (media: { examples?: object } | undefined): boolean => Object.keys(media?.examples ?? {}).length > 0

const exampleFaults = (document: OpenApiDocument): string[] =>
  operationsOf(document).flatMap(({ method, path, operation }) => {
    const { requestBody, responses, parameters = [] } = operation
    const add = 'Add .meta({ examples: [{ … }] }) to the schema, with a value that works on a running service.'
    const faults: string[] = []
    if (requestBody && !hasExamples(requestBody.content['application/json'])) {
      faults.push(`${method} ${path}: the request body has no example. ${add}`)
    }
    for (const [status, response] of Object.entries(responses as Record<string, Content>)) {
      // A file has no example.
      if (response.content && '*/*' in response.content) continue
      if (Number(status) < 300 && !hasExamples(onlyMedia(response))) {
        faults.push(`${method} ${path}: the ${status} response has no example. ${add}`)
      }
    }
    for (const parameter of parameters) {
      if ('$ref' in parameter || parameter.in !== 'path' || parameter.example !== undefined) continue
      faults.push(`${method} ${path}: the path parameter ${parameter.name} has no example. Name its kind in params.`)
    }
    return faults
  })

export const operationIdFaults = (routes: readonly PublicRoute[]): string[] => {
  const stated = routes.map(({ operationId }) => operationId)
  return routes.flatMap(({ method, path, operationId }) => {
    if (operationId === undefined) return [`${method} ${path} has no operationId. Add one, such as 'sendEmail'.`]
    if (!/^[a-z]+(?:[A-Z][a-z]+)*$/.test(operationId)) return [`${operationId} must be a verb and nouns in camel case.`]
    const uses = stated.filter((other) => other === operationId).length
    return uses > 1 ? [`${method} ${path}: the operationId ${operationId} is used ${uses} times.`] : []
  })
}

export const descriptionFaults = (document: OpenApiDocument): string[] => [
  ...schemasOf(document).flatMap(({ at, side, schema }) => [
    ...walkSchema(schema, at, undescribed),
    ...walkSchema(schema, at, meaninglessBounds),
    ...(side === 'request' ? walkSchema(schema, at, requiredDefaults) : []),
  ]),
  ...defaultsInComponents(document),
  ...parameterFaults(document),
  ...exampleFaults(document),
]
