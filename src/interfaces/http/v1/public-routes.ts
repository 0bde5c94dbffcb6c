/** The routes under /api/v1 that most resources have alike. Each states its path, access and texts, and the action. */
import type { z } from 'zod'
import type { Caller } from '../../../customers/keys/caller.ts'
import type { Actor } from '../../../journal/audit/append.ts'
import type { IdempotencyClaim } from '../../../platform/idempotency/claims.ts'
import { actorOf } from '../actor.ts'
import { type Listed, pageOf, pageQuery } from '../page.ts'
import { created, Deleted, deleted, listed, ok } from '../responses.ts'
import type { Call, Input, Method, PublicRoute } from '../route.ts'
import type { KeyAccess } from '../route-access.ts'
import type { ShownResource } from '../shown-resource.ts'

type Stated = Pick<PublicRoute, 'path' | 'access' | 'operationId' | 'summary' | 'description' | 'errors'> & {
  /** The description of the response, in place of the usual one. */
  response?: string
}

type Schema = z.ZodType | undefined

type ListCall<Q extends z.ZodType> = Call<KeyAccess, unknown, z.output<Q> & { limit: number }, undefined>
type NewCall<B extends z.ZodType> = Call<KeyAccess, unknown, undefined, z.output<B>>
type OneCall<B extends Schema = undefined> = Call<KeyAccess, { id: string }, undefined, Input<B>>

export const publicRoutes = <Row, Item extends z.ZodType>(
  tag: string,
  { kind, one, many, item, show }: ShownResource<Row, Item>,
) => {
  const params = { id: kind }
  return {
    create: <B extends z.ZodType>({
      action,
      response = `The new ${one}.`,
      ...route
    }: Stated & {
      idempotent?: true
      body: B
      action: (caller: Caller, actor: Actor, body: z.output<B>, claim?: IdempotencyClaim) => Promise<Row>
    }): PublicRoute => ({
      ...route,
      tag,
      method: 'POST',
      responses: { 201: { schema: item, description: response } },
      handle: async (call: NewCall<B>) =>
        created(show(await action(call.caller, actorOf(call), call.body, call.claim))),
    }),

    list: <R extends Row & Listed, Q extends z.ZodType = typeof pageQuery>({
      action,
      query,
      ...route
    }: Stated & {
      query?: Q
      action: (caller: Caller, query: z.output<Q>) => Promise<R[]>
    }): PublicRoute => ({
      ...route,
      tag,
      method: 'GET',
      query: query ?? pageQuery,
      responses: { 200: { schema: pageOf(item), description: `A page of ${many}, newest first.` } },
      handle: async ({ caller, query }: ListCall<Q>) => listed(await action(caller, query), query.limit, show),
    }),

    get: ({
      action,
      response = `The ${one}.`,
      errors = ['NOT_FOUND'],
      ...route
    }: Stated & { action: (caller: Caller, id: string) => Promise<Row> }): PublicRoute => ({
      ...route,
      tag,
      params,
      method: 'GET',
      responses: { 200: { schema: item, description: response } },
      errors,
      handle: async ({ caller, params: { id } }: OneCall) => ok(show(await action(caller, id))),
    }),

    /** A `PATCH`, or another method that changes the resource and shows it. */
    change: <B extends Schema = undefined>({
      action,
      method = 'PATCH',
      response = `The updated ${one}.`,
      ...route
    }: Stated & {
      method?: Method
      body?: B
      check?: (input: { body: Input<B> }) => void
      action: (caller: Caller, actor: Actor, id: string, body: Input<B>) => Promise<Row>
    }): PublicRoute => ({
      ...route,
      tag,
      params,
      method,
      responses: { 200: { schema: item, description: response } },
      handle: async (call: OneCall<B>) => ok(show(await action(call.caller, actorOf(call), call.params.id, call.body))),
    }),

    remove: ({
      action,
      response = `The ${one} was deleted.`,
      ...route
    }: Stated & { action: (caller: Caller, actor: Actor, id: string) => Promise<unknown> }): PublicRoute => ({
      ...route,
      tag,
      params,
      method: 'DELETE',
      responses: { 200: { schema: Deleted, description: response } },
      handle: async (call: OneCall) => {
        const { id } = call.params
        await action(call.caller, actorOf(call), id)
        return deleted(id)
      },
    }),
  }
}
