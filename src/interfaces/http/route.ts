/** The definition of a route: one object that the router, the validator and the descriptions of the API read. */
import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { Code, Failure } from '../../platform/ground/errors.ts'
import type { IdKind } from '../../platform/ground/ids.ts'
import type { IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import type { JsonBounds } from './json-scan.ts'
import type { Access, Entered, KeyAccess, SessionAccess } from './route-access.ts'

export type UploadedFile = { contentType: string; bytes: Buffer }

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The parameters of a path: `{ id: string }` for `/suppressions/{id}`. */
export type PathParams<P extends string> = string extends P
  ? Record<string, string>
  : P extends `${string}{${infer Name}}${infer Rest}`
    ? { [K in Name]: string } & PathParams<Rest>
    : P extends `${string}*`
      ? { '*': string }
      : unknown

/** What every handler gets, whoever calls. */
export type Request<Params, Query, Body> = {
  method: string
  /** The target of the request: path and query. */
  url: string
  params: Params
  query: Query
  body: Body
  headers: IncomingHttpHeaders
  requestId: string
  address: string | null
  userAgent: string
  /** Set when the request has an Idempotency-Key. A handler with a transaction can record its response in it. */
  claim: IdempotencyClaim | undefined
  /** The body of a route with `uploads`. */
  upload: UploadedFile
}

export type Call<A extends Access, Params, Query, Body> = Entered<A> & Request<Params, Query, Body>

export type FileBody = { contentType: string; content: AsyncIterable<string | Buffer> | Buffer }

export type RouteResponse = {
  status: number
  /** Absent for a response without a body, such as a 204 or a redirect. */
  body?: unknown
  /** Sent as it is made, in place of a JSON body. */
  file?: FileBody
  /** The body is a text of this type. Without it, the body is sent as JSON. */
  contentType?: string
  headers?: Record<string, string>
  /** Values of Set-Cookie headers. */
  cookies?: string[]
  /** True when the handler recorded the response for its Idempotency-Key in its own transaction. */
  recorded?: true
}

export type ResponseShape = {
  schema: z.ZodType
  description: string
  /** The media type of a response that is not JSON. A star means any type, as for a file from a stranger. */
  contentType?: string
}

/** What a route responds with. Null: without a body. `file`: not JSON. */
export type Output = ResponseShape | z.ZodType | 'file' | null

/** What the description of the public API says about a route. */
type Described = {
  tag: string
  /**
   * The name of the operation in the API description and in generated clients, such as `sendEmail`. Every route of the
   * service has one, which never changes. Routes of tests can omit it.
   */
  operationId?: string
  summary: string
  description?: string
  /** The body for the API description, when the handler validates parts of the body itself. */
  describedBody?: z.ZodType
  /** Error codes of the route's own rules. Codes that any route can return are added automatically. */
  errors?: readonly Code[]
  responses: Record<number, ResponseShape>
}

/** What a route states besides its path, its access, its input and its handler. */
type Stated = {
  /** With any other method, the path is not found. */
  hidden?: true
  /** A `GET` that is recorded or starts work. Only a script of the dashboard can send it, and never as HEAD. */
  acts?: true
  params?: Record<string, IdKind>
  /** A malformed id in the path is passed to the handler instead of being reported as not found. */
  anyId?: true
  /** Path parameters that are places in a list, from 0, with their descriptions. Any other text is not found. */
  positions?: Record<string, string>
  /** Media types other than JSON that the route accepts. The handler reads the bytes of every body itself. */
  uploads?: readonly string[]
  /** The body is a form that a browser posts. */
  form?: true
  /** A `PATCH` without fields has a meaning of its own, such as a check of the present state. */
  emptyPatch?: 'allowed'
  /** Successful responses by HTTP status. */
  responses: Record<number, Output>
  /** Accepts an Idempotency-Key header. */
  idempotent?: true
  /**
   * The error for any fault of the database during the request, its admission included. By default an outage is a 503 if
   * the request certainly had no effect, and every other fault a 500.
   */
  databaseFault?: (cause?: unknown) => Failure
  /** In bytes, in place of the limit of its area. */
  bodyLimit?: number
  /** How many values the body may have, when that is not the default. */
  bounds?: Pick<JsonBounds, 'elements' | 'values'>
  /** Rejects a body larger than `above` after parsing it, so that the error can name the part that is too large. */
  oversize?: { above: number; failure: (raw: unknown) => Failure }
}

type DescribedIfPublic<A extends Access> = A extends KeyAccess ? Described : unknown

export type Route<A extends Access = Access> = Stated &
  DescribedIfPublic<A> & {
    method: Method
    /** Below the base of its area, with parameters in braces: `/suppressions/{id}`. A star at the end is any text. */
    path: string
    access: A
    query?: z.ZodType
    /** Its `examples` are requests that work: a test sends them to a running service. */
    body?: z.ZodType
    /** Checks rules that involve both query and body. Throws a `Failure` when one is violated. */
    // biome-ignore lint/suspicious/noExplicitAny: narrowed like handle
    check?: (input: { query: any; body: any }) => void
    // biome-ignore lint/suspicious/noExplicitAny: each route narrows its own call through defineRoute
    handle: (call: any) => Promise<RouteResponse>
  }

/** A route of the public API. */
export type PublicRoute = Route<KeyAccess>

/** A route of the dashboard. */
export type DashboardRoute = Route<SessionAccess>

/** What a handler gets of an input with this schema. */
export type Input<S> = S extends z.ZodType ? z.output<S> : undefined

/** Types the handler's call by the access, the path and the schemas of the same route. */
export const defineRoute = <
  const A extends Access,
  const P extends string,
  const Q extends z.ZodType | undefined,
  const B extends z.ZodType | undefined,
>(
  method: Method,
  path: P,
  access: A,
  route: Stated &
    DescribedIfPublic<A> & {
      query?: Q
      body?: B
      check?: (input: { query: Input<Q>; body: Input<B> }) => void
      handle: (call: Call<A, PathParams<P>, Input<Q>, Input<B>>) => Promise<RouteResponse>
    },
): Route<A> => Object.assign(route, { method, path, access }) as unknown as Route<A>
