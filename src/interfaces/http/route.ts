/**
 * The definition of a route: one object that the router, the validator and the descriptions of the API read. First who may
 * call it, and what its handler then knows about the caller.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { Role, Session } from '../../customers/accounts/sessions.ts'
import type { AccessRule } from '../../customers/admission/admit.ts'
import type { Caller } from '../../customers/keys/caller.ts'
import type { ScopeName } from '../../customers/keys/scopes.ts'
import type { DirectoryActor } from '../../people/scim/group-mapping.ts'
import type { Code, Failure } from '../../platform/ground/errors.ts'
import type { IdKind } from '../../platform/ground/ids.ts'
import type { IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import type { JsonBounds } from './json-scan.ts'

/** An API key with one of these scopes, or the token of an OAuth client that was granted one. */
export type KeyAccess = AccessRule & { by: 'key' }

/** Any API key, or the token of an OAuth client. What it may do is decided later. */
export type BearerAccess = { by: 'bearer' }

/** Who may call a route of the dashboard. `public` needs no session and exists only under /api/auth. */
export const gates = [
  'public',
  'requireUserSession',
  'requireSession',
  'requireWriteSession',
  'requireDeveloperSession',
  'requireOwnerSession',
] as const

export type SessionGate = (typeof gates)[number]

type SessionRule = {
  /** Changes that stay possible while the org is suspended, such as billing. Reads and personal routes always are. */
  whileSuspended?: 'open'
  /**
   * Concerns the whole account of the user, so a session that the identity provider of an org opened is not enough. Only for
   * routes behind `requireUserSession`.
   */
  ownFactors?: true
  /** Pages of other sites may send it. Only for a route that does not act for the user of the cookie. */
  fromOtherSites?: true
}

/** A browser session. */
export type SessionAccess<G extends SessionGate = SessionGate> = SessionRule & { by: 'session'; gate: G }

/** The token of a directory that manages the members of an org. */
export type DirectoryAccess = { by: 'directory' }

/** A link that the service signed. The rest of the path is its token. */
export type LinkAccess<Ref = unknown> = { by: 'link'; read: (token: string) => Ref | undefined }

/** A program on this machine, in development. */
type MachineAccess = { by: 'machine' }

/** Anyone. The handler checks what the request proves, such as the signature of a provider. */
type OpenAccess = { by: 'anyone' }

export type Access =
  | KeyAccess
  | BearerAccess
  | SessionAccess
  | DirectoryAccess
  | LinkAccess
  | MachineAccess
  | OpenAccess

export const byKey = (
  scope: ScopeName | readonly ScopeName[],
  forbiddenKeys?: NonNullable<AccessRule['forbiddenKeys']>,
): KeyAccess => ({ by: 'key', scope, ...(forbiddenKeys && { forbiddenKeys }) })

export const bySession = <const G extends SessionGate>(gate: G, rule: SessionRule = {}): SessionAccess<G> => ({
  by: 'session',
  gate,
  ...rule,
})

export const byLink = <Ref>(read: (token: string) => Ref | undefined): LinkAccess<Ref> => ({ by: 'link', read })

export const byBearer: BearerAccess = { by: 'bearer' }
export const byDirectory: DirectoryAccess = { by: 'directory' }
export const byMachine: MachineAccess = { by: 'machine' }
export const byAnyone: OpenAccess = { by: 'anyone' }

/** A signed-in user. `orgId` is the active org, under which the audit log files what the user does to themselves. */
export type UserSession = Pick<
  Session,
  'sessionId' | 'userId' | 'method' | 'createdAt' | 'expiresAt' | 'orgId' | 'ssoOrgId' | 'ownFactors'
>
export type MemberSession = UserSession & { orgId: string; role: Role; orgSuspended: boolean }

type SessionBehind<G extends SessionGate> = G extends 'public'
  ? undefined
  : G extends 'requireUserSession'
    ? UserSession
    : MemberSession

/** What a handler knows about the caller. */
export type Entered<A extends Access> = A extends KeyAccess
  ? {
      /** Already narrowed to the tenant that the request names. */
      caller: Caller
    }
  : A extends BearerAccess
    ? {
        caller: Caller
        /** Counts the request in the rate of its key, which nothing has done so far. */
        count: () => Promise<void>
      }
    : A extends SessionAccess<infer G>
      ? {
          session: SessionBehind<G>
          /** The session of a public route's caller, if they have one. */
          findSession: () => Promise<Session | undefined>
        }
      : A extends DirectoryAccess
        ? { orgId: string; actor: DirectoryActor }
        : A extends LinkAccess<infer Ref>
          ? { ref: Ref | undefined }
          : unknown

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

type ResponseShape = {
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
