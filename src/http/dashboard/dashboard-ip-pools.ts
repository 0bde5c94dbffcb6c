/** /api/internal/ip-pools: dedicated IP pools. */

import type { Db } from '../../db/pool.ts'
import { CreateIpPool, IpPool, PatchIpPool } from '../../domains/ip-pool-shapes.ts'
import type { ManageIpPools } from '../../domains/manage-ip-pools.ts'
import { listIpPools } from '../../domains/store/ip-pool-rows.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { Deleted } from '../deleted.ts'
import { page } from '../page.ts'
import { shownIpPool } from '../shown-ip-pool.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { listOf, listQuery } from './list-query.ts'
import { scopeOf } from './member-scope.ts'

const path = '/api/internal/ip-pools'
const one = { path: `${path}/{id}`, params: { id: 'ipPool' } } as const

type Needs = { db: Db; manage: ManageIpPools }

export const dashboardIpPoolRoutes = ({ db, manage }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: listQuery(),
    responses: { 200: listOf(IpPool) },
    handle: async ({ session: { orgId }, query }) => {
      const rows = await db.rows(listIpPools, { orgId, projectId: null, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, shownIpPool) }
    },
  }),
  defineDashboardRoute({
    ...one,
    method: 'GET',
    gate: 'requireSession',
    responses: { 200: IpPool },
    handle: async ({ session, params }) => ({
      status: 200,
      body: shownIpPool(await manage.get(scopeOf(session), params.id as string)),
    }),
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireOwnerSession',
    body: CreateIpPool,
    responses: { 201: IpPool },
    handle: async (call) => ({
      status: 201,
      body: shownIpPool(await manage.create(scopeOf(call.session), userActor(call), call.body)),
    }),
  }),
  defineDashboardRoute({
    ...one,
    method: 'PATCH',
    gate: 'requireOwnerSession',
    body: PatchIpPool,
    responses: { 200: IpPool },
    handle: async (call) => ({
      status: 200,
      body: shownIpPool(
        await manage.patch(scopeOf(call.session), userActor(call), call.params.id as string, call.body),
      ),
    }),
  }),
  defineDashboardRoute({
    ...one,
    method: 'DELETE',
    gate: 'requireOwnerSession',
    responses: { 200: Deleted },
    handle: async (call) => {
      const id = call.params.id as string
      await manage.remove(scopeOf(call.session), userActor(call), id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]
