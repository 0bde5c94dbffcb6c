/** The routes under /api/v1 that most resources have alike. Each states the action, and what is unusual about it. */
import type { z } from 'zod'
import type { Caller } from '../../../customers/keys/caller.ts'
import type { Actor } from '../../../journal/audit/append.ts'
import type { IdempotencyClaim } from '../../../platform/idempotency/claims.ts'
import { actorOf } from '../actor.ts'
import { type Listed, pageOf, pageQuery } from '../page.ts'
import { created, Deleted, deleted, listed, ok } from '../responses.ts'
import type { Call, Input, KeyAccess, Method, PublicRoute } from '../route.ts'
import type { ShownResource } from '../shown-resource.ts'

/** Where a resource is in the API, and who reads and changes it. */
type Place = {
  tag: string
  path: string
  /** Its names in the ids of operations, as in `createDltEntity` and `listDltEntities`. */
  name: string
  names?: string
  /** Its names in summaries, where those are longer. */
  called?: { one: string; many: string }
  read: KeyAccess
  write: KeyAccess
}

/** What differs from the usual route of the resource. */
type Stated = Partial<Pick<PublicRoute, 'path' | 'access' | 'operationId' | 'summary'>> &
  Pick<PublicRoute, 'description' | 'errors'> & {
    /** The description of the response, in place of the usual one. */
    response?: string
  }

/** What changes of one resource are refused with, unless stated otherwise. */
export const refusals = ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'] as const

type Schema = z.ZodType | undefined

type ListCall<Q extends z.ZodType> = Call<KeyAccess, unknown, z.output<Q> & { limit: number }, undefined>
type NewCall<B extends z.ZodType> = Call<KeyAccess, unknown, undefined, z.output<B>>
type OneCall<B extends Schema = undefined> = Call<KeyAccess, { id: string }, undefined, Input<B>>

export const publicRoutes = <Row, Item extends z.ZodType>(
  { kind, one, many, item, show }: ShownResource<Row, Item>,
  { tag, path, name, names = `${name}s`, called = { one, many }, read, write }: Place,
) => {
  const params = { id: kind }
  const pathOfOne = `${path}/{id}`
  const anyOne = `${/^[aeiou]/i.test(called.one) ? 'an' : 'a'} ${called.one}`
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
      path,
      access: write,
      operationId: `create${name}`,
      summary: `Create ${anyOne}`,
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
      path,
      access: read,
      operationId: `list${names}`,
      summary: `List ${called.many}`,
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
      path: pathOfOne,
      access: read,
      operationId: `get${name}`,
      summary: `Get ${anyOne}`,
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
      errors = refusals,
      ...route
    }: Stated & {
      method?: Method
      body?: B
      check?: (input: { body: Input<B> }) => void
      action: (caller: Caller, actor: Actor, id: string, body: Input<B>) => Promise<Row>
    }): PublicRoute => ({
      path: pathOfOne,
      access: write,
      operationId: `update${name}`,
      summary: `Update ${anyOne}`,
      ...route,
      tag,
      params,
      method,
      errors,
      responses: { 200: { schema: item, description: response } },
      handle: async (call: OneCall<B>) => ok(show(await action(call.caller, actorOf(call), call.params.id, call.body))),
    }),

    remove: ({
      action,
      response = `The ${one} was deleted.`,
      errors = refusals,
      ...route
    }: Stated & { action: (caller: Caller, actor: Actor, id: string) => Promise<unknown> }): PublicRoute => ({
      path: pathOfOne,
      access: write,
      operationId: `delete${name}`,
      summary: `Delete ${anyOne}`,
      ...route,
      tag,
      params,
      method: 'DELETE',
      errors,
      responses: { 200: { schema: Deleted, description: response } },
      handle: async (call: OneCall) => {
        const { id } = call.params
        await action(call.caller, actorOf(call), id)
        return deleted(id)
      },
    }),
  }
}
