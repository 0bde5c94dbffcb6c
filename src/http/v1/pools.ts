import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { ManagePools } from '../../senders/pools/manage-pools.ts'
import { CreatePool, PatchPool, Pool } from '../../senders/pools/pool-shapes.ts'
import { listPools } from '../../senders/store/pool-rows.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownPool } from '../shown-sender.ts'

type Needs = { db: Db; manage: ManagePools }

export const poolRoutes = ({ db, manage }: Needs): Route[] => {
  const write = { tag: 'Pools', scope: 'write:pools' } as const
  const read = { tag: 'Pools', scope: 'read:pools' } as const
  const one = { path: '/pools/{id}', params: { id: 'pool' } } as const
  const refusals = ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'] as const

  return [
    defineRoute({
      ...write,
      method: 'POST',
      path: '/pools',
      operationId: 'createPool',
      summary: 'Create a messaging pool',
      description:
        'Messages name the pool in `from_pool`, and each recipient keeps the sender that it got first. A sender in the pool of a tenant belongs to that tenant until it leaves the pool.',
      body: CreatePool,
      responses: { 201: { schema: Pool, description: 'The new pool.' } },
      errors: ['PLAN_RESOURCE_LIMIT', 'POOL_SLUG_TAKEN', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
      handle: async (call) => ({
        status: 201,
        body: shownPool(await manage.create(call.caller, actorOf(call), call.body)),
      }),
    }),
    defineRoute({
      ...read,
      method: 'GET',
      path: '/pools',
      operationId: 'listPools',
      summary: 'List messaging pools',
      description: "A tenant's list includes its own pools and those of the organisation.",
      query: pageQuery,
      responses: { 200: { schema: pageOf(Pool), description: 'A page of pools, newest first.' } },
      handle: async ({ caller: { orgId, tenantId }, query }) => {
        const rows = await db.rows(listPools, { orgId, tenantId, ...keysetOf(query) })
        return { status: 200, body: page(rows, query.limit, shownPool) }
      },
    }),
    defineRoute({
      ...read,
      ...one,
      method: 'GET',
      operationId: 'getPool',
      summary: 'Get a messaging pool',
      responses: { 200: { schema: Pool, description: 'The pool.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: shownPool(await manage.get(caller, params.id as string)),
      }),
    }),
    defineRoute({
      ...write,
      ...one,
      method: 'PATCH',
      operationId: 'updatePool',
      summary: 'Update a messaging pool',
      description: 'Changes the name or replaces the members. Recipients of a member that leaves get another one.',
      body: PatchPool,
      responses: { 200: { schema: Pool, description: 'The updated pool.' } },
      errors: [...refusals, 'NO_FIELDS'],
      handle: async (call) => ({
        status: 200,
        body: shownPool(await manage.patch(call.caller, actorOf(call), call.params.id as string, call.body)),
      }),
    }),
    defineRoute({
      ...write,
      ...one,
      method: 'DELETE',
      operationId: 'deletePool',
      summary: 'Delete a messaging pool',
      description: 'Its senders stay. Scheduled messages from the pool fail with `SENDER_NOT_REGISTERED`.',
      responses: { 200: { schema: Deleted, description: 'The pool was deleted.' } },
      errors: refusals,
      handle: async (call) => {
        const id = call.params.id as string
        await manage.remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
  ]
}
