/** The definition of a route of the dashboard: one object that states its gate, its input and its responses. */
import type { z } from 'zod'
import type { Role, Session } from '../../accounts/sessions.ts'
import type { UserActor } from '../../audit/append.ts'
import type { IdKind } from '../../ground/ids.ts'
import type { IdempotencyClaim } from '../../idempotency/claims.ts'
import type { JsonBounds } from '../json-scan.ts'
import type { FileBody, Method, UploadedFile } from '../route.ts'

/** Who may call a route. `public` needs no session and exists only under /api/auth. */
export const gates = [
  'public',
  'requireUserSession',
  'requireSession',
  'requireWriteSession',
  'requireDeveloperSession',
  'requireOwnerSession',
] as const

export type SessionGate = (typeof gates)[number]

/** A signed-in user. `orgId` is the active org, under which the audit log files what the user does to themselves. */
export type UserSession = Pick<
  Session,
  'sessionId' | 'userId' | 'method' | 'createdAt' | 'expiresAt' | 'orgId' | 'ssoOrgId' | 'ownFactors'
>
export type MemberSession = UserSession & { orgId: string; role: Role; orgSuspended: boolean }

export type SessionBehind<G extends SessionGate> = G extends 'public'
  ? undefined
  : G extends 'requireUserSession'
    ? UserSession
    : MemberSession

export type DashboardCall<G extends SessionGate, Query, Body> = {
  session: SessionBehind<G>
  query: Query
  body: Body
  params: Record<string, string>
  requestId: string
  address: string | null
  userAgent: string
  /** The body of a route with `uploads`. */
  upload: UploadedFile
  /** The value of a header, by its name in lower case. */
  header: (name: string) => string | undefined
  /** For an `idempotent` route: the claim on the request's Idempotency-Key. */
  claim: IdempotencyClaim | undefined
  /** The value of a cookie, if the request has it. */
  cookie: (name: string) => string | undefined
  /** The session of a public route's caller, if they have one. */
  findSession: () => Promise<Session | undefined>
}

export type DashboardResponse = {
  status: number
  /** Absent for a response without a body, such as a 204 or a redirect. */
  body?: unknown
  /** Sent as it is made, in place of a JSON body. Its route declares it as `file`. */
  file?: FileBody
  /** The body is a text of this type. Without it, the body is sent as JSON. */
  contentType?: string
  headers?: Record<string, string>
  /** Values of Set-Cookie headers. */
  cookies?: string[]
  /** True when the handler recorded the response for its Idempotency-Key in its own transaction. */
  recorded?: true
}

export type DashboardRoute = {
  method: Method
  /** With parameters in braces: `/api/internal/api-keys/{id}`. */
  path: string
  gate: SessionGate
  /** Changes that stay possible while the org is suspended, such as billing. Reads and personal routes always are. */
  whileSuspended?: 'open'
  /**
   * Concerns the whole account of the user, so a session that the identity provider of an org opened is not enough. Only for
   * routes behind `requireUserSession`.
   */
  ownFactors?: true
  /** Refuses HEAD. For a `GET` that is recorded or costs work, which HEAD would start for nobody. */
  head?: 'refused'
  params?: Record<string, IdKind>
  /** Path parameters that are places in a list, from 0. Any other text is not found. */
  positions?: readonly string[]
  query?: z.ZodType
  body?: z.ZodType
  /** Media types other than JSON that the route accepts. The handler reads the bytes of every body itself. */
  uploads?: readonly string[]
  /** The body is a form that a browser posts. */
  form?: true
  /** Pages of other sites may send it. Only for a route that does not act for the user of the cookie. */
  fromOtherSites?: true
  /** A `PATCH` without fields has a meaning of its own, such as a check of the present state. */
  emptyPatch?: 'allowed'
  /** Accepts an Idempotency-Key header. Only for routes of members that respond with JSON. */
  idempotent?: true
  /** In bytes; default 1 MB. */
  bodyLimit?: number
  /** How many values the body may have, when that is not the default. */
  bounds?: Pick<JsonBounds, 'elements' | 'values'>
  /** The schemas of successful responses by HTTP status. Null: without a body. `file`: not JSON. */
  responses: Record<number, z.ZodType | 'file' | null>
  // biome-ignore lint/suspicious/noExplicitAny: each route narrows its own call through defineDashboardRoute
  handle: (call: any) => Promise<DashboardResponse>
}

type Input<S> = S extends z.ZodType ? z.output<S> : undefined

/** Types the handler's session by the gate, and its `query` and `body` by the schemas of the same route. */
export const defineDashboardRoute = <
  const G extends SessionGate,
  const Q extends z.ZodType | undefined,
  const B extends z.ZodType | undefined,
>(
  route: Omit<DashboardRoute, 'gate' | 'query' | 'body' | 'handle'> & {
    gate: G
    query?: Q
    body?: B
    handle: (call: DashboardCall<G, Input<Q>, Input<B>>) => Promise<DashboardResponse>
  },
): DashboardRoute => route as DashboardRoute

type FromUser = { session: UserSession; address: string | null; userAgent: string }

/** The actor recorded in audit entries of a signed-in user's call. */
export const userActor = ({ session, address, userAgent }: FromUser): UserActor => ({
  kind: 'user',
  userId: session.userId,
  ip: address,
  userAgent,
})
