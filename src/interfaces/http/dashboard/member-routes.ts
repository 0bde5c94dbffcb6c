/** The routes under /api/internal that most resources have alike. Each states the action, and what is unusual about it. */
import type { z } from 'zod'
import type { UserActor } from '../../../journal/audit/append.ts'
import type { Scope } from '../../../platform/ground/scope.ts'
import { scopeOf, userActor } from '../actor.ts'
import type { Listed } from '../page.ts'
import { created, Deleted, deleted, listed, ok } from '../responses.ts'
import {
  bySession,
  type Call,
  type DashboardRoute,
  type Input,
  type MemberSession,
  type Method,
  type SessionAccess,
  type SessionGate,
} from '../route.ts'
import type { ShownResource } from '../shown-resource.ts'
import { idQuery, listOf, listQuery, oneOrListOf, oneOrListQuery } from './list-query.ts'

type MemberGate = Exclude<SessionGate, 'public' | 'requireUserSession'>

/** Where a resource is in the dashboard. Every member reads it and only owners change it, unless stated otherwise. */
type Place = { path: string; read?: MemberGate; write?: MemberGate }

type ListQuery = z.ZodType<{ limit: number; tenant_id?: string | undefined }>
type OneOrListQuery = z.ZodType<{ limit: number; tenant_id?: string | undefined; id?: string | undefined }>

type MemberCall<Params, Query, Body> = Call<SessionAccess<MemberGate>, Params, Query, Body>
type OneCall<B extends z.ZodType | undefined> = MemberCall<{ id?: string }, { id: string }, Input<B>>

/** With the filter `tenant_id`, what belongs to that tenant. */
const filteredScope = (session: MemberSession, query: { tenant_id?: string | undefined }): Scope => ({
  ...scopeOf(session),
  tenantId: query.tenant_id ?? null,
})

export const memberRoutes = <Row, Item extends z.ZodType>(
  { kind, item, show }: Pick<ShownResource<Row, Item>, 'kind' | 'item' | 'show'>,
  { path, read = 'requireSession', write = 'requireOwnerSession' }: Place,
) => {
  const [reading, writing] = [bySession(read), bySession(write)]
  /** The id is in the path, or in the query of a path without one. */
  const byId = (pathOfOne: string) => ({
    path: pathOfOne,
    access: writing,
    ...(pathOfOne.includes('/{id}') ? { params: { id: kind } } : { query: idQuery }),
  })
  const idOf = ({ params, query }: Pick<OneCall<undefined>, 'params' | 'query'>): string => params.id ?? query.id

  return {
    list: <R extends Row & Listed, Q extends ListQuery = ReturnType<typeof listQuery>>({
      action,
      query,
    }: {
      query?: Q
      action: (of: Scope, query: z.output<Q>) => Promise<R[]>
    }): DashboardRoute => ({
      method: 'GET',
      path,
      access: reading,
      query: query ?? listQuery(),
      responses: { 200: listOf(item) },
      handle: async ({ session, query }: MemberCall<unknown, z.output<Q>, undefined>) =>
        listed(await action(filteredScope(session, query), query), query.limit, show),
    }),

    oneOrList: <R extends Row & Listed, Q extends OneOrListQuery = typeof oneOrListQuery>({
      list,
      get,
      query,
    }: {
      query?: Q
      get: (scope: Scope, id: string) => Promise<Row>
      list: (of: Scope, query: z.output<Q>) => Promise<R[]>
    }): DashboardRoute => ({
      method: 'GET',
      path,
      access: reading,
      query: query ?? oneOrListQuery,
      responses: { 200: oneOrListOf(item) },
      handle: async ({ session, query }: MemberCall<unknown, z.output<Q>, undefined>) => {
        if (query.id !== undefined) return ok(show(await get(scopeOf(session), query.id)))
        return listed(await list(filteredScope(session, query), query), query.limit, show)
      },
    }),

    get: ({ action }: { action: (scope: Scope, id: string) => Promise<Row> }): DashboardRoute => ({
      method: 'GET',
      path: `${path}/{id}`,
      access: reading,
      params: { id: kind },
      responses: { 200: item },
      handle: async ({ session, params: { id } }: MemberCall<{ id: string }, undefined, undefined>) =>
        ok(show(await action(scopeOf(session), id))),
    }),

    create: <B extends z.ZodType>({
      action,
      body,
    }: {
      body: B
      action: (scope: Scope, actor: UserActor, body: z.output<B>) => Promise<Row>
    }): DashboardRoute => ({
      method: 'POST',
      path,
      access: writing,
      body,
      responses: { 201: item },
      handle: async (call: MemberCall<unknown, undefined, z.output<B>>) =>
        created(show(await action(scopeOf(call.session), userActor(call), call.body))),
    }),

    change: <B extends z.ZodType | undefined = undefined>({
      path: pathOfOne = path,
      action,
      ...route
    }: {
      path?: string
      method?: Method
      body?: B
      emptyPatch?: 'allowed'
      action: (scope: Scope, actor: UserActor, id: string, body: Input<B>) => Promise<Row>
    }): DashboardRoute => ({
      method: 'PATCH',
      ...route,
      ...byId(pathOfOne),
      responses: { 200: item },
      handle: async (call: OneCall<B>) =>
        ok(show(await action(scopeOf(call.session), userActor(call), idOf(call), call.body))),
    }),

    remove: ({
      path: pathOfOne = path,
      action,
    }: {
      path?: string
      action: (scope: Scope, actor: UserActor, id: string) => Promise<unknown>
    }): DashboardRoute => ({
      method: 'DELETE',
      ...byId(pathOfOne),
      responses: { 200: Deleted },
      handle: async (call: OneCall<undefined>) => {
        const id = idOf(call)
        await action(scopeOf(call.session), userActor(call), id)
        return deleted(id)
      },
    }),
  }
}
