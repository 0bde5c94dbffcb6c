/** Every path of the service: the routes of the API as the OpenAPI document describes them, and all other paths. */
import { z } from 'zod'
import type { OpenApiDocument, Parameter, ResponseObject } from '../../src/interfaces/http/openapi/document.ts'
import type { DashboardRoute } from '../../src/interfaces/http/route.ts'
import { type IdKind, idPattern, prefixes } from '../../src/platform/ground/ids.ts'
import type { TestService } from '../service/service.ts'
import type { Resolve, Schema } from './values.ts'

export type Named = { name: string; required: boolean; schema: Schema }

export type Entry = {
  method: string
  /** With parameters in braces. */
  path: string
  params: Record<string, IdKind>
  query: Named[]
  headers: Named[]
  body: Schema | undefined
  /** The error codes in its description, or undefined if it has no description. */
  codes: ReadonlySet<string> | undefined
}

export type Surface = { entries: Entry[]; resolve: Resolve }

const entry = (method: string, path: string, more: Partial<Entry> = {}): Entry => ({
  method,
  path,
  params: {},
  query: [],
  headers: [],
  body: undefined,
  codes: undefined,
  ...more,
})

/** Paths outside the public API, which the OpenAPI document does not describe. */
const otherEntries: Entry[] = [
  entry('GET', '/api/internal/nowhere'),
  entry('POST', '/api/auth/nowhere'),
  entry('POST', '/api/dev/clock', {
    body: {
      type: 'object',
      properties: { advance_seconds: { type: 'number', minimum: 0, maximum: 60 } },
      required: ['advance_seconds'],
    },
  }),
  entry('POST', '/api/dev/run', {
    body: { type: 'object', properties: { task: { enum: ['retention'] } }, required: ['task'] },
  }),
  entry('POST', '/api/dev/registry', {
    body: {
      type: 'object',
      properties: {
        id: { type: 'string', maxLength: 100 },
        status: { enum: ['verified', 'unverified', 'unreachable'] },
      },
      required: ['id', 'status'],
    },
  }),
  entry('GET', '/api/dev/outbox', {
    query: [
      { name: 'channel', required: false, schema: { enum: ['email', 'sms'] } },
      { name: 'to', required: false, schema: { type: 'string', maxLength: 320 } },
      { name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 1000 } },
    ],
  }),
  entry('POST', '/api/dev/nowhere'),
  entry('POST', '/api/mcp', {
    body: {
      type: 'object',
      properties: {
        jsonrpc: { enum: ['2.0'] },
        id: { type: 'integer', minimum: 0, maximum: 9 },
        method: { enum: ['initialize', 'tools/list', 'tools/call', 'ping', 'notifications/initialized'] },
        params: {
          type: 'object',
          properties: {
            name: { enum: ['list_emails', 'get_domain', 'add_suppression'] },
            arguments: { type: 'object', properties: { id: { type: 'string', maxLength: 50 } } },
          },
        },
      },
      required: ['jsonrpc', 'method'],
    },
  }),
  entry('GET', '/api/mcp'),
  entry('POST', '/api/oauth/register', {
    body: {
      type: 'object',
      properties: {
        client_name: { type: 'string', maxLength: 100 },
        redirect_uris: { type: 'array', items: { type: 'string', maxLength: 100 }, maxItems: 3 },
      },
      required: ['redirect_uris'],
    },
  }),
  entry('GET', '/api/oauth/authorize', {
    query: ['client_id', 'redirect_uri', 'scope', 'state', 'resource'].map((name) => ({
      name,
      required: false,
      schema: { type: 'string', maxLength: 100 },
    })),
  }),
  entry('POST', '/api/oauth/token'),
  entry('POST', '/api/oauth/revoke'),
  entry('GET', '/.well-known/oauth-authorization-server'),
  entry('GET', '/api/openapi.json'),
  entry('GET', '/docs'),
  entry('GET', '/docs/start.js'),
  entry('GET', '/healthz'),
  entry('GET', '/readyz'),
  entry('GET', '/metrics'),
  entry('GET', '/t/o/{token}'),
  entry('GET', '/t/c/{token}'),
  entry('GET', '/u/{token}'),
  entry('POST', '/u/{token}'),
  entry('GET', '/'),
  entry('POST', '/nowhere'),
  entry('GET', '/api/v1'),
  entry('POST', '/api/v1/nowhere'),
  entry('DELETE', '/v1/nowhere/{id}'),
]

const partOf = (document: OpenApiDocument, reference: string): unknown =>
  reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], document)

type Described = { method: string; path: string; params?: Record<string, IdKind> }

const entriesOf = (document: OpenApiDocument, routes: readonly Described[]): Surface => {
  const follow = <T>(value: T | { $ref: string }): T =>
    typeof value === 'object' && value !== null && '$ref' in value ? (partOf(document, value.$ref) as T) : (value as T)

  const described = routes.map(({ method, path, params = {} }) => {
    const operation = document.paths[`/api/v1${path}`]?.[method.toLowerCase() as 'get']
    if (!operation) throw new Error(`${method} ${path} is not described`)
    const parameters = (operation.parameters ?? []).map((parameter) => follow<Parameter>(parameter))
    const named = (where: Parameter['in']): Named[] =>
      parameters
        .filter((parameter) => parameter.in === where)
        .map(({ name, required, schema }) => ({ name, required, schema: schema as Schema }))
    const codes = Object.values(operation.responses).flatMap(
      (response) => follow<ResponseObject>(response)['x-error-codes'] ?? [],
    )
    return entry(method, `/api/v1${path}`, {
      params,
      query: named('query'),
      headers: named('header'),
      body: operation.requestBody?.content['application/json'].schema as Schema | undefined,
      codes: new Set(codes),
    })
  })
  return { entries: [...described, ...otherEntries], resolve: (reference) => partOf(document, reference) as Schema }
}

/** Replaces the references of a schema to its own definitions by the definitions. */
const inlined = (part: unknown, definitions: Record<string, unknown>): unknown => {
  if (Array.isArray(part)) return part.map((item) => inlined(item, definitions))
  if (typeof part !== 'object' || part === null) return part
  const { $ref } = part as { $ref?: string }
  if ($ref !== undefined) return inlined(definitions[$ref.replace('#/$defs/', '')], definitions)
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, inlined(value, definitions)]))
}

/** The routes of the dashboard, which have schemas but no description. */
const dashboardEntries = (routes: readonly DashboardRoute[]): Entry[] => {
  const schemaOf = (type: z.ZodType): Schema => {
    const { $defs = {}, ...schema } = z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' })
    return inlined(schema, $defs) as Schema
  }
  return routes.map(({ method, path, params = {}, query, body }) => {
    const parameters = query ? schemaOf(query) : {}
    const required = (parameters.required ?? []) as string[]
    return entry(method, path, {
      params,
      query: Object.entries((parameters.properties ?? {}) as Record<string, Schema>).map(([name, schema]) => ({
        name,
        required: required.includes(name),
        schema,
      })),
      body: body && schemaOf(body),
    })
  })
}

export const readSurface = async ({ service, ask }: TestService): Promise<Surface> => {
  const { entries, resolve } = entriesOf((await ask('GET', '/api/openapi.json')).body, service.routes)
  return { entries: [...entries, ...dashboardEntries(service.dashboardRoutes)], resolve }
}

const kindOf = (pattern: string): IdKind | undefined =>
  (Object.keys(prefixes) as IdKind[]).find((kind) => idPattern(kind) === pattern)

/** The same of a service in another process, of which only the description is known. */
export const surfaceOf = (document: OpenApiDocument): Surface => {
  const routes = Object.entries(document.paths).flatMap(([url, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const params: Record<string, IdKind> = {}
      for (const parameter of operation.parameters ?? []) {
        if (!('in' in parameter) || parameter.in !== 'path') continue
        const kind = kindOf(String((parameter.schema as Schema).pattern ?? ''))
        if (kind) params[parameter.name] = kind
      }
      return { method: method.toUpperCase(), path: url.replace(/^\/api\/v1/, ''), params }
    }),
  )
  return entriesOf(document, routes)
}
