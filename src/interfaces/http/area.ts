/** The parts of the service that its paths belong to, and the doors through which requests enter them. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { ClaimingCaller } from '../../platform/idempotency/claims.ts'
import type { ErrorFormat } from './error-format.ts'
import type { Access, Route } from './route.ts'

/** Admits the callers of one kind. `A` is what is known before the body is read, `E` what the handler gets. */
export interface Door<A extends { address: string | null } = { address: string | null }, E extends object = object> {
  /** Before the body is read. Throws the refusal. */
  admit(request: FastifyRequest, reply: FastifyReply, route: Route): MaybePromise<A>
  /** Once the input is valid. */
  enter(admitted: A, request: FastifyRequest, route: Route): MaybePromise<E>
  /** The org and the user whose own changes a read has to show. Without them, it is served by the primary. */
  subjectsOf?(entered: E): readonly string[] | undefined
  /** Who an Idempotency-Key belongs to. */
  claimantOf?(entered: E): ClaimingCaller
}

// biome-ignore lint/suspicious/noExplicitAny: a route only meets the door of its own access
export type Doors = Record<Access['by'], Door<any, any>>

/** The paths below a prefix. */
export type Area = {
  prefix: string
  /** What precedes the paths of its routes. The prefix, unless they are written in full. */
  base: string
  routes: readonly Route[]
  format: ErrorFormat
  /** In bytes, for routes that do not state a limit of their own. */
  bodyLimit: number
  /** Headers of every successful response, which the route may replace. */
  headers?: () => Record<string, string>
  /** Admits the caller of a path that no route serves, because only some callers may learn which paths exist. */
  admitUnknown?: (request: FastifyRequest, reply: FastifyReply) => MaybePromise<unknown>
  /** The sentence about a path that no route serves, if it is not the usual one. */
  unknownMessage?: string
}

export const routeUrl = ({ base }: Area, { path }: Route): string => `${base}${path}`

/** The path as the router reads it: without query and fragment, and with percent-encoded ASCII decoded. */
export const pathOf = (url: string): string =>
  (url.split(/[?#]/, 1)[0] as string).replace(/%([2-7][0-9a-f])/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )

/** Finds the area of a path. The last one, with an empty prefix, has every other path. */
export const makeAreaOf = (areas: readonly Area[]) => {
  const isBelow = (path: string, prefix: string): boolean =>
    path.startsWith(prefix) && (prefix === '' || path.length === prefix.length || path[prefix.length] === '/')
  return (url: string): Area => {
    const path = pathOf(url)
    return areas.find(({ prefix }) => isBelow(path, prefix)) as Area
  }
}
