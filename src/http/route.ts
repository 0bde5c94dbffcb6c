/** The definition of a route: one object that the router, the validator and the OpenAPI description all read. */
import type { z } from 'zod'
import type { Code, Failure } from '../ground/errors.ts'
import type { IdKind } from '../ground/ids.ts'
import type { IdempotencyClaim } from '../idempotency/claims.ts'
import type { Caller } from '../keys/caller.ts'
import type { ScopeName } from '../keys/scopes.ts'
import type { JsonBounds } from './json-scan.ts'

export type UploadedFile = { contentType: string; bytes: Buffer }

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export type Call<Query, Body> = {
  /** The caller, already narrowed to the tenant that the request names. */
  caller: Caller
  query: Query
  body: Body
  params: Record<string, string>
  requestId: string
  address: string | null
  userAgent: string
  /** Set when the request has an Idempotency-Key. A handler with a transaction can record its response in it. */
  claim: IdempotencyClaim | undefined
  /** The body of a route with `uploads`. */
  upload: UploadedFile
}

export type FileBody = { contentType: string; content: AsyncIterable<string | Buffer> | Buffer }

export type RouteResponse = {
  status: number
  /** Sent as JSON. Undefined when `file` is set. */
  body: unknown
  /** Sent as it is made, in place of a JSON body. */
  file?: FileBody
  headers?: Record<string, string>
  /** True when the handler recorded the response for its Idempotency-Key in its own transaction. */
  recorded?: true
}

export type ResponseShape = {
  schema: z.ZodType
  description: string
  /** The media type of a response that is not JSON. A star means any type, as for a file from a stranger. */
  contentType?: string
}

export type Route = {
  method: Method
  /** Relative to /api/v1, with parameters in braces: `/suppressions/{id}`. */
  path: string
  tag: string
  /**
   * The name of the operation in the API description and in generated clients, such as `sendEmail`. Every route of the
   * service has one, which never changes. Routes of tests can omit it.
   */
  operationId?: string
  summary: string
  description?: string
  /** A key that has any one of these scopes may call the route. */
  scope: ScopeName | readonly ScopeName[]
  params?: Record<string, IdKind>
  /** A malformed id in the path is passed to the handler instead of being reported as not found. */
  anyId?: true
  /** Path parameters that are places in a list, from 0, with their descriptions. Any other text is not found. */
  positions?: Record<string, string>
  query?: z.ZodType
  /** Its `examples` are requests that work: a test sends them to a running service. */
  body?: z.ZodType
  /** The body for the API description, when the handler validates parts of the body itself. */
  describedBody?: z.ZodType
  /** Media types other than JSON that the route accepts. The handler reads the bytes of every body itself. */
  uploads?: readonly string[]
  /** Checks rules that involve both query and body. Throws a `Failure` when one is violated. */
  // biome-ignore lint/suspicious/noExplicitAny: narrowed like handle
  check?: (input: Pick<Call<any, any>, 'query' | 'body'>) => void
  /** Successful responses by HTTP status. */
  responses: Record<number, ResponseShape>
  /** Error codes of the route's own rules. Codes that any route can return are added automatically. */
  errors?: readonly Code[]
  idempotent?: true
  /**
   * The error for any fault of the database during the request, its admission included. By default an outage is a 503 if
   * the request certainly had no effect, and every other fault a 500.
   */
  databaseFault?: (cause?: unknown) => Failure
  /** In bytes; default 6 MB. */
  bodyLimit?: number
  /** How many values the body may have, when that is not the default. */
  bounds?: Pick<JsonBounds, 'elements' | 'values'>
  /** Rejects a body larger than `above` after parsing it, so that the error can name the part that is too large. */
  oversize?: { above: number; failure: (raw: unknown) => Failure }
  /** Kinds of key that may not call the route, each with the error code it gets. */
  forbiddenKeys?: { tenantKey?: Code; projectKey?: Code; testKey?: Code }
  // biome-ignore lint/suspicious/noExplicitAny: each route narrows its own call through defineRoute
  handle: (call: Call<any, any>) => Promise<RouteResponse>
}

type Input<S> = S extends z.ZodType ? z.output<S> : undefined

/** Types the handler's `query` and `body` from the schemas of the same route. */
export const defineRoute = <const Q extends z.ZodType | undefined, const B extends z.ZodType | undefined>(
  route: Omit<Route, 'query' | 'body' | 'check' | 'handle'> & {
    query?: Q
    body?: B
    check?: (input: Pick<Call<Input<Q>, Input<B>>, 'query' | 'body'>) => void
    handle: (call: Call<Input<Q>, Input<B>>) => Promise<RouteResponse>
  },
): Route => route as Route
