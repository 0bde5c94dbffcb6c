/** What a route is: one object that the router, the validator and the OpenAPI description all read. */
import type { z } from 'zod'
import type { Code, Failure } from '../ground/errors.ts'
import type { IdKind } from '../ground/ids.ts'
import type { IdempotencyClaim } from '../idempotency/claims.ts'
import type { Caller } from '../keys/caller.ts'
import type { ScopeName } from '../keys/scopes.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export type Call<Query, Body> = {
  /** The caller, already narrowed to the tenant the request names. */
  caller: Caller
  query: Query
  body: Body
  params: Record<string, string>
  requestId: string
  address: string | null
  userAgent: string
  /** Held when the request carries an Idempotency-Key; a slice with a transaction records its answer in it. */
  claim: IdempotencyClaim | undefined
}

export type Answer = {
  status: number
  body: unknown
  headers?: Record<string, string>
  /** True when the slice recorded the idempotent answer in its own transaction. */
  recorded?: true
}

export type AnswerShape = { schema: z.ZodType; about: string }

export type Route = {
  method: Method
  /** Below /api/v1, parameters in braces: `/suppressions/{id}`. */
  path: string
  tag: string
  summary: string
  about?: string
  /** Any one of them opens the route. */
  scope: ScopeName | readonly ScopeName[]
  params?: Record<string, IdKind>
  query?: z.ZodType
  body?: z.ZodType
  /** Rules between query and body that no schema of one of them can state. Throws what is wrong. */
  // biome-ignore lint/suspicious/noExplicitAny: narrowed like handle
  check?: (input: Pick<Call<any, any>, 'query' | 'body'>) => void
  answers: Record<number, AnswerShape>
  /** Codes of the route's own rules; those of the door are added to every route. */
  refuses?: readonly Code[]
  idempotent?: true
  /** In bytes; default 6 MB. */
  bodyLimit?: number
  /** For a body that is read further than it is accepted, so that the refusal can name what is too large in it. */
  oversize?: { above: number; refuse: (raw: unknown) => Failure }
  /** Kinds of key that may not call at all, and the code each is told. */
  bars?: { tenantKey?: Code; projectKey?: Code; testKey?: Code }
  // biome-ignore lint/suspicious/noExplicitAny: each route narrows its own call through defineRoute
  handle: (call: Call<any, any>) => Promise<Answer>
}

type Input<S> = S extends z.ZodType ? z.output<S> : undefined

/** Ties the types of a handler to the schemas on the same object. */
export const defineRoute = <const Q extends z.ZodType | undefined, const B extends z.ZodType | undefined>(
  route: Omit<Route, 'query' | 'body' | 'check' | 'handle'> & {
    query?: Q
    body?: B
    check?: (input: Pick<Call<Input<Q>, Input<B>>, 'query' | 'body'>) => void
    handle: (call: Call<Input<Q>, Input<B>>) => Promise<Answer>
  },
): Route => route as Route
