import type { Db } from '../../db/pool.ts'
import { CreateIpPool, IpPool, PatchIpPool } from '../../domains/ip-pool-shapes.ts'
import type { ManageIpPools } from '../../domains/manage-ip-pools.ts'
import { listIpPools } from '../../domains/store/ip-pool-rows.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownIpPool } from '../shown-ip-pool.ts'

/** Pools carry only live mail and are managed with platform keys. */
const forbiddenKeys = { tenantKey: 'TENANT_KEY_FORBIDDEN', testKey: 'ENVIRONMENT_ESCALATION' } as const

type Needs = { db: Db; manage: ManageIpPools }

export const ipPoolRoutes = ({ db, manage }: Needs): Route[] => {
  const write = { tag: 'IP pools', scope: 'write:ip_pools', forbiddenKeys } as const
  const read = { tag: 'IP pools', scope: 'read:ip_pools', forbiddenKeys } as const
  const one = { params: { id: 'ipPool' } } as const

  return [
    defineRoute({
      ...write,
      method: 'POST',
      path: '/ip-pools',
      operationId: 'createIpPool',
      summary: 'Create a dedicated IP pool',
      body: CreateIpPool,
      responses: { 201: { schema: IpPool, description: 'The new IP pool.' } },
      errors: ['DEDICATED_IP_LIMIT_EXCEEDED'],
      handle: async (call) => ({
        status: 201,
        body: shownIpPool(await manage.create(call.caller, actorOf(call), call.body)),
      }),
    }),
    defineRoute({
      ...read,
      method: 'GET',
      path: '/ip-pools',
      operationId: 'listIpPools',
      summary: 'List dedicated IP pools',
      query: pageQuery,
      responses: { 200: { schema: pageOf(IpPool), description: 'A page of IP pools, newest first.' } },
      handle: async ({ caller, query }) => {
        const { orgId, projectId } = caller
        const rows = await db.rows(listIpPools, { orgId, projectId, ...keysetOf(query) })
        return { status: 200, body: page(rows, query.limit, shownIpPool) }
      },
    }),
    defineRoute({
      ...read,
      ...one,
      method: 'GET',
      path: '/ip-pools/{id}',
      operationId: 'getIpPool',
      summary: 'Get a dedicated IP pool',
      responses: { 200: { schema: IpPool, description: 'The IP pool.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: shownIpPool(await manage.get(caller, params.id as string)),
      }),
    }),
    defineRoute({
      ...write,
      ...one,
      method: 'PATCH',
      path: '/ip-pools/{id}',
      operationId: 'updateIpPool',
      summary: 'Update a dedicated IP pool',
      description: 'While a pool is paused, live sends from its domains return `IP_POOL_PAUSED`.',
      body: PatchIpPool,
      responses: { 200: { schema: IpPool, description: 'The updated IP pool.' } },
      errors: ['NOT_FOUND', 'DEDICATED_IP_LIMIT_EXCEEDED'],
      handle: async (call) => ({
        status: 200,
        body: shownIpPool(await manage.patch(call.caller, actorOf(call), call.params.id as string, call.body)),
      }),
    }),
    defineRoute({
      ...write,
      ...one,
      method: 'DELETE',
      path: '/ip-pools/{id}',
      operationId: 'deleteIpPool',
      summary: 'Delete a dedicated IP pool',
      responses: { 200: { schema: Deleted, description: 'The IP pool was deleted.' } },
      errors: ['NOT_FOUND', 'IP_POOL_IN_USE'],
      handle: async (call) => {
        const id = call.params.id as string
        await manage.remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
  ]
}
