/** Generates the OpenAPI 3.1 description of /api/v1 from the route objects that the router serves. */
import { z } from 'zod'
import { type Code, statusOf } from '../../platform/ground/errors.ts'
import { runAtOnce, type Steps } from '../../platform/ground/event-loop-turns.ts'
import { type IdKind, idPattern } from '../../platform/ground/ids.ts'
import {
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type ResponseObject,
  referTo,
  referToAll,
} from './openapi/document.ts'
import { headers, parameters, rateHeaders } from './openapi/documented-headers.ts'
import { exampleId, nounOf, shownExamples } from './openapi/examples.ts'
import { apiDescription, tagTexts } from './openapi/prose.ts'
import { codesOf, ErrorBody, errorResponse, errorResponses, exampleOf, sharedErrors } from './openapi/refusals.ts'
import { type JsonSchema, makeShapesInSteps, type Shapes } from './openapi/shapes.ts'
import type { KeyAccess, Method, PublicRoute } from './route.ts'

export type { OpenApiDocument } from './openapi/document.ts'

const pathOf = (route: PublicRoute): string => `/api/v1${route.path}`

/** The operation id that the route states. Without one, `GET /emails/{id}/events` becomes `getEmailsByIdEvents`. */
export const operationIdOf = ({
  operationId,
  method,
  path,
}: Pick<PublicRoute, 'operationId' | 'method' | 'path'>): string => {
  if (operationId !== undefined) return operationId
  const words = path
    .split('/')
    .filter(Boolean)
    .map((part) => part.replace(/^\{(\w+)\}$/, 'by-$1'))
    .flatMap((part) => part.split(/[^A-Za-z0-9]+/))
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

const pathParameters = ({ path, params = {}, positions = {} }: PublicRoute): Parameter[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const description = positions[name]
    if (description !== undefined) {
      const schema = { type: 'integer', minimum: 0, maximum: 9_999 } as const
      return { name, in: 'path', required: true, description, schema, example: 0 }
    }
    const kind: IdKind | undefined = params[name]
    if (!kind) return { name, in: 'path', required: true, schema: { type: 'string', minLength: 1 } }
    return {
      name,
      in: 'path',
      required: true,
      description: `The id of the ${nounOf(kind)}.`,
      schema: { type: 'string', pattern: idPattern(kind) },
      example: exampleId(kind),
    }
  })

/**
 * Every query value is text. A field marked as a number or boolean is described as one, with the bounds of the parsed
 * value instead of those of its text.
 */
const asSent = (field: JsonSchema, parsed: JsonSchema = {}): JsonSchema => {
  const out = { ...field }
  const type = out.type === 'integer' ? 'number' : out.type
  if (typeof parsed.default === type) out.default = parsed.default
  if (type !== 'number' && type !== 'boolean') return out
  for (const textOnly of ['pattern', 'format', 'minLength', 'maxLength', 'enum'] as const) delete out[textOnly]
  const { minimum, maximum } = parsed
  return { ...(minimum !== undefined && { minimum }), ...(maximum !== undefined && { maximum }), ...out }
}

const queryParameters = (route: PublicRoute, shapes: Shapes): Parameter[] => {
  if (!route.query) return []
  const { properties, required = [] } = shapes.request(route.query)
  if (!properties)
    throw new Error(`The query schema of ${route.method} ${route.path} must be an object without a name.`)
  const parsed = z.toJSONSchema(route.query, { io: 'output', unrepresentable: 'any' }).properties ?? {}
  return Object.entries(properties as Record<string, JsonSchema>).map(([name, field]) => {
    const { description, ...schema } = asSent(field, parsed[name] as JsonSchema | undefined)
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(description !== undefined && { description }),
      schema,
    }
  })
}

const json = 'application/json'

const successes = (route: PublicRoute, shapes: Shapes): Record<string, ResponseObject> => {
  const names = ['X-Request-Id', ...Object.keys(rateHeaders)]
  if (route.idempotent) names.push('Idempotent-Replayed')
  const rows = Object.entries(route.responses).map(([status, { schema, description, contentType = json }]) => [
    status,
    {
      description,
      headers: referToAll('headers', names),
      content: { [contentType]: { schema: shapes.response(schema), ...shownExamples(schema) } },
    },
  ])
  return Object.fromEntries(rows)
}

const scopeLine = (scope: KeyAccess['scope']): string =>
  typeof scope === 'string'
    ? `Requires the scope \`${scope}\`.`
    : `Requires one of these scopes: ${scope.map((name) => `\`${name}\``).join(', ')}.`

const describedBodyOf = ({ body, describedBody }: PublicRoute): z.ZodType | undefined => describedBody ?? body

const describeBody = (route: PublicRoute, shapes: Shapes): Pick<Operation, 'requestBody'> => {
  const body = describedBodyOf(route)
  if (!body) return {}
  const files = (route.uploads ?? []).map((type) => [type, { schema: { type: 'string' as const } }] as const)
  const content = {
    ...Object.fromEntries(files),
    'application/json': { schema: shapes.request(body), ...shownExamples(body) },
  }
  return { requestBody: { required: body._zod.optin !== 'optional', content } }
}

const describeRoute = (route: PublicRoute, shapes: Shapes): Operation => ({
  operationId: operationIdOf(route),
  tags: [route.tag],
  summary: route.summary,
  description: [route.description, scopeLine(route.access.scope)].filter(Boolean).join('\n\n'),
  'x-required-scope': typeof route.access.scope === 'string' ? route.access.scope : [...route.access.scope],
  security: [{ apiKey: [] }],
  parameters: [
    ...pathParameters(route),
    ...queryParameters(route, shapes),
    ...(route.idempotent ? [referTo('parameters', 'Idempotency-Key')] : []),
    referTo('parameters', 'X-Service-Tenant-Ref'),
  ],
  ...describeBody(route, shapes),
  responses: { ...successes(route, shapes), ...errorResponses(route) },
})

const describeWebhook = (hook: WebhookShape, shapes: Shapes): Operation => ({
  operationId: operationIdOf({ method: 'POST', path: hook.event }).replace(/^post/, 'on'),
  ...(hook.tag && { tags: [hook.tag] }),
  summary: hook.summary,
  ...(hook.description && { description: hook.description }),
  security: [],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: shapes.response(hook.body), ...shownExamples(hook.body) } },
  },
  responses: {
    '2XX': { description: 'Return any 2xx status to acknowledge the event. Any other response is retried later.' },
  },
})

function* describePaths(routes: readonly PublicRoute[], shapes: Shapes): Steps<OpenApiDocument['paths']> {
  const paths: OpenApiDocument['paths'] = {}
  for (const route of routes) {
    yield
    const item = paths[pathOf(route)] ?? {}
    item[route.method.toLowerCase() as Lowercase<Method>] = describeRoute(route, shapes)
    paths[pathOf(route)] = item
  }
  return paths
}

/** In the order of `tagTexts`. Tags without a text follow in the order of the routes. */
const describeTags = (used: Iterable<string>): OpenApiDocument['tags'] => {
  const order = Object.keys(tagTexts)
  const position = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length)
  return [...new Set(used)]
    .sort((a, b) => position(a) - position(b))
    .map((name) => ({ name, ...(tagTexts[name] !== undefined && { description: tagTexts[name] }) }))
}

/** An event that the service sends to webhook endpoints. */
export type WebhookShape = {
  event: string
  tag?: string
  summary: string
  description?: string
  body: z.ZodType
}

type ApiParts = {
  routes: readonly PublicRoute[]
  serviceVersion: string
  /** The public URL. If undefined, clients use the URL that they fetched the description from. */
  baseUrl?: string | undefined
  webhooks?: readonly WebhookShape[]
}

export function* describeInSteps(parts: ApiParts): Steps<OpenApiDocument> {
  const { routes, serviceVersion, baseUrl = '/', webhooks = [] } = parts
  const shapes = yield* makeShapesInSteps(
    routes.flatMap((route) => [route.query, describedBodyOf(route)].filter((schema) => schema !== undefined)),
    [
      ErrorBody,
      ...routes.flatMap((route) => Object.values(route.responses).map(({ schema }) => schema)),
      ...webhooks.map(({ body }) => body),
    ],
  )
  const codes = [...new Set(routes.flatMap(codesOf))]
  const shared = (Object.entries(sharedErrors) as [Code, string][]).filter(([code]) => codes.includes(code))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tidings',
      version: serviceVersion,
      summary: 'Email, SMS and one-time codes over plain HTTP.',
      description: apiDescription,
      license: { name: 'MIT License', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl, description: 'This service' }],
    tags: describeTags([...routes, ...webhooks].flatMap(({ tag }) => tag ?? [])),
    paths: yield* describePaths(routes, shapes),
    webhooks: Object.fromEntries(webhooks.map((hook) => [hook.event, { post: describeWebhook(hook, shapes) }])),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key, such as `svc_live_…` or `svc_test_…`. A key is shown only once, when you create it.',
        },
      },
      parameters,
      headers,
      responses: Object.fromEntries(shared.map(([code, name]) => [name, errorResponse(statusOf(code), [code])])),
      examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
      schemas: shapes.components,
    },
  }
}

export const describeApi = (parts: ApiParts): OpenApiDocument => runAtOnce(describeInSteps(parts))
