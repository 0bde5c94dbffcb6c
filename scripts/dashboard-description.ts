/** Describes the dashboard's routes as an OpenAPI document, from which the types of the browser's client are generated. */
import { z } from 'zod'
import { makeDashboardRoutes } from '../src/app/wiring/dashboard.ts'
import { type JsonSchema, makeShapes, type Shapes } from '../src/interfaces/http/openapi/shapes.ts'
import { operationIdOf } from '../src/interfaces/http/openapi.ts'
import type { DashboardRoute } from '../src/interfaces/http/route.ts'

/**
 * Takes the place of every module that a handler would call. Handlers are never called here, so anything that a route
 * does with its modules while it is being made succeeds and has no effect.
 */
const anything: unknown = new Proxy(() => undefined, {
  get: (_, name) => {
    if (name === 'then') return undefined
    if (name === Symbol.iterator) return () => [][Symbol.iterator]()
    if (name === Symbol.toPrimitive) return () => ''
    return anything
  },
  apply: () => anything,
  construct: () => anything as object,
})

const json = 'application/json'
const mediaOf = (schema: JsonSchema) => ({ [json]: { schema } })

const queryParameters = ({ query, method, path }: DashboardRoute, shapes: Shapes) => {
  if (!query) return []
  const { properties, required = [] } = shapes.request(query)
  if (!properties) throw new Error(`The query schema of ${method} ${path} must be an object without a name.`)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

const pathParameters = ({ path }: DashboardRoute) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))

const describeRoute = (route: DashboardRoute, shapes: Shapes) => ({
  operationId: operationIdOf({ method: route.method, path: route.path }),
  'x-gate': route.access.gate,
  parameters: [...pathParameters(route), ...queryParameters(route, shapes)],
  ...(route.body && { requestBody: { required: true, content: mediaOf(shapes.request(route.body)) } }),
  responses: Object.fromEntries(
    Object.entries(route.responses).map(([status, schema]) => [
      status,
      { description: '', ...(schema instanceof z.ZodType && { content: mediaOf(shapes.response(schema)) }) },
    ]),
  ),
})

/** Without a running service: the routes are made with stand-ins, and only their schemas are read. */
export const describeDashboard = () => {
  const routes = makeDashboardRoutes(anything as Parameters<typeof makeDashboardRoutes>[0])
  const given = (schema: unknown): schema is z.ZodType => schema instanceof z.ZodType
  const shapes = makeShapes(
    routes.flatMap(({ query, body }) => [query, body].filter(given)),
    routes.flatMap(({ responses }) => Object.values(responses).filter(given)),
  )
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const methods = paths[route.path] ?? {}
    methods[route.method.toLowerCase()] = describeRoute(route, shapes)
    paths[route.path] = methods
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Tidings dashboard', version: '1' },
    paths,
    components: { schemas: shapes.components },
  }
}
