import type { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import type { ManageIpPools } from '../../domains/manage-ip-pools.ts'
import { CreateIpPool, IpPool, PatchIpPool } from '../../domains/shapes.ts'
import { type IpPoolRow, listIpPools } from '../../domains/store/ip-pool-rows.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'

const show = (row: IpPoolRow): z.output<typeof IpPool> => ({
  id: row.id,
  name: row.name,
  region: row.region,
  paused: row.paused,
  ip_count: row.ip_count,
  ips: row.ips,
  domain_ids: row.domain_ids,
  created_at: row.created_at.toISOString(),
})

/** Pools carry live mail only, and are the platform's. */
const bars = { tenantKey: 'TENANT_KEY_FORBIDDEN', testKey: 'ENVIRONMENT_ESCALATION' } as const

type Needs = { db: Db; manage: ManageIpPools }

export const ipPoolRoutes = ({ db, manage }: Needs): Route[] => {
  const write = { tag: 'IP pools', scope: 'write:ip_pools', bars } as const
  const read = { tag: 'IP pools', scope: 'read:ip_pools', bars } as const
  const one = { params: { id: 'ipPool' } } as const

  return [
    defineRoute({
      ...write,
      method: 'POST',
      path: '/ip-pools',
      summary: 'Create a dedicated IP pool',
      body: CreateIpPool,
      answers: { 201: { schema: IpPool, about: 'The new pool.' } },
      refuses: ['DEDICATED_IP_LIMIT_EXCEEDED'],
      handle: async (call) => ({
        status: 201,
        body: show(await manage.create(call.caller, actorOf(call), call.body)),
      }),
    }),
    defineRoute({
      ...read,
      method: 'GET',
      path: '/ip-pools',
      summary: 'List dedicated IP pools',
      query: pageQuery,
      answers: { 200: { schema: pageOf(IpPool), about: 'A page, newest first.' } },
      handle: async ({ caller, query }) => {
        const { orgId, projectId } = caller
        const rows = await db.rows(listIpPools, { orgId, projectId, ...keysetOf(query) })
        return { status: 200, body: page(rows, query.limit, show) }
      },
    }),
    defineRoute({
      ...read,
      ...one,
      method: 'GET',
      path: '/ip-pools/{id}',
      summary: 'Get a dedicated IP pool',
      answers: { 200: { schema: IpPool, about: 'The pool.' } },
      refuses: ['NOT_FOUND'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: show(await manage.get(caller, params.id as string)),
      }),
    }),
    defineRoute({
      ...write,
      ...one,
      method: 'PATCH',
      path: '/ip-pools/{id}',
      summary: 'Change a dedicated IP pool',
      about: 'While it is paused, live sends from its domains are refused.',
      body: PatchIpPool,
      answers: { 200: { schema: IpPool, about: 'The pool as it is now.' } },
      refuses: ['NOT_FOUND', 'DEDICATED_IP_LIMIT_EXCEEDED'],
      handle: async (call) => ({
        status: 200,
        body: show(await manage.patch(call.caller, actorOf(call), call.params.id as string, call.body)),
      }),
    }),
    defineRoute({
      ...write,
      ...one,
      method: 'DELETE',
      path: '/ip-pools/{id}',
      summary: 'Delete a dedicated IP pool',
      answers: { 200: { schema: Deleted, about: 'Deleted.' } },
      refuses: ['NOT_FOUND', 'IP_POOL_IN_USE'],
      handle: async (call) => {
        const id = call.params.id as string
        await manage.remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
  ]
}
