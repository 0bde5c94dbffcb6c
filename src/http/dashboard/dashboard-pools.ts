/** /api/internal/pools: messaging pools. */

import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { ManagePools } from '../../senders/pools/manage-pools.ts'
import { CreatePool, PatchPool, Pool } from '../../senders/pools/pool-shapes.ts'
import { listOrgPools } from '../../senders/store/pool-rows.ts'
import { Deleted } from '../deleted.ts'
import { page } from '../page.ts'
import { shownPool } from '../shown-sender.ts'
import { type DashboardRoute, defineDashboardRoute, type MemberSession, userActor } from './dashboard-route.ts'
import { tenantFilter } from './filters.ts'
import { scopeOf } from './member-scope.ts'
import { oneOrListOf, oneOrListQuery } from './one-or-list.ts'

const path = '/api/internal/pools'
const one = { path: `${path}/{id}`, params: { id: 'pool' } } as const

/** Bound to no tenant. */
const callerOf = (session: MemberSession) => ({ ...scopeOf(session), tenantState: undefined })

type Needs = { db: Db; manage: ManagePools }

export const dashboardPoolRoutes = ({ db, manage }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: oneOrListQuery.extend({ tenant_id: tenantFilter }),
    responses: { 200: oneOrListOf(Pool) },
    handle: async ({ session, query: { id, tenant_id: tenantId = null, ...query } }) => {
      if (id !== undefined) return { status: 200, body: shownPool(await manage.get(scopeOf(session), id)) }
      const rows = await db.rows(listOrgPools, { orgId: session.orgId, tenantId, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, shownPool) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireDeveloperSession',
    body: CreatePool,
    responses: { 201: Pool },
    handle: async (call) => ({
      status: 201,
      body: shownPool(await manage.create(callerOf(call.session), userActor(call), call.body)),
    }),
  }),
  defineDashboardRoute({
    ...one,
    method: 'PATCH',
    gate: 'requireDeveloperSession',
    body: PatchPool,
    responses: { 200: Pool },
    handle: async (call) => {
      const { session, params, body } = call
      return {
        status: 200,
        body: shownPool(await manage.patch(callerOf(session), userActor(call), params.id as string, body)),
      }
    },
  }),
  defineDashboardRoute({
    ...one,
    method: 'DELETE',
    gate: 'requireDeveloperSession',
    responses: { 200: Deleted },
    handle: async (call) => {
      const id = call.params.id as string
      await manage.remove(callerOf(call.session), userActor(call), id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]
