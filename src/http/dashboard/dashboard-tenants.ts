/** /api/internal/tenants. Suspending, restoring and erasing need an API key. */

import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { encodeCursor, keysetOf } from '../../ground/cursor.ts'
import { pageOfSearch } from '../../ground/search-page.ts'
import type { CreateTenants } from '../../tenants/create.ts'
import type { TenantLifecycle } from '../../tenants/lifecycle.ts'
import {
  CreateTenant,
  PatchQuota,
  PatchTenant,
  readExternalRef,
  Tenant,
  TenantQuota,
  tenantStatuses,
} from '../../tenants/shapes.ts'
import { listTenants, searchTenants } from '../../tenants/store.ts'
import type { ReadUsage } from '../../usage/read.ts'
import { UsageReport } from '../../usage/shapes.ts'
import { page } from '../page.ts'
import { shownQuota, shownTenant } from '../shown-tenant.ts'
import { periodOf, periodQuery } from '../usage-period.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { environmentFilter, optionalFilter, searchFilter } from './filters.ts'
import { listOf, listQuery } from './list-query.ts'
import { scopeOf } from './member-scope.ts'

const path = '/api/internal/tenants'
const one = { path: `${path}/{id}`, params: { id: 'tenant' } } as const

const ListQuery = listQuery().extend({
  external_ref: optionalFilter(z.string().max(1_000)),
  status: optionalFilter(z.enum(tenantStatuses)),
  /** A part of a name, slug, reference or id. The other filters do not apply to a search. */
  q: searchFilter,
})

/** How many tenants one request searches. */
const searchWindow = 10_000

/** An action, or fields to change. */
const ChangeTenant = PatchTenant.extend({ action: z.literal('unsuspend').optional() }).refine(
  ({ action, ...fields }) => action === undefined || Object.keys(fields).length === 0,
  { path: ['action'], message: 'Send an action without other fields.' },
)

type Needs = { db: Db; clock: Clock; create: CreateTenants; lifecycle: TenantLifecycle; usage: ReadUsage }

const readRoutes = ({ db, clock, lifecycle, usage }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: ListQuery,
    responses: { 200: listOf(Tenant) },
    handle: async ({ session: { orgId }, query }) => {
      const { status = null, q } = query
      if (q !== undefined) {
        const searched = { orgId, q, window: searchWindow, ...keysetOf(query) }
        const { rows, next } = pageOfSearch(await db.rows(searchTenants, searched), query.limit)
        const cursor = next && encodeCursor(next)
        return { status: 200, body: { data: rows.map(shownTenant), has_more: next !== null, next_cursor: cursor } }
      }
      const externalRef = readExternalRef(query.external_ref)
      const rows = await db.rows(listTenants, { orgId, id: null, externalRef, status, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, shownTenant) }
    },
  }),
  defineDashboardRoute({
    ...one,
    method: 'GET',
    gate: 'requireSession',
    responses: { 200: Tenant },
    handle: async ({ session, params }) => ({
      status: 200,
      body: shownTenant(await lifecycle.get(scopeOf(session), params.id as string)),
    }),
  }),
  defineDashboardRoute({
    ...one,
    method: 'GET',
    path: `${path}/{id}/usage`,
    gate: 'requireSession',
    query: periodQuery.extend({ environment: environmentFilter }),
    responses: { 200: UsageReport },
    handle: async ({ session, params, query }) => {
      const { orgId } = session
      const { environment = 'live' } = query
      const period = periodOf(query.period, clock.now())
      const { id: tenantId } = await lifecycle.get(scopeOf(session), params.id as string)
      return { status: 200, body: await usage({ orgId, tenantId, environment, period, byKey: false }) }
    },
  }),
]

const changeRoutes = ({ create, lifecycle }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireOwnerSession',
    body: CreateTenant,
    responses: { 201: Tenant },
    handle: async (call) => ({
      status: 201,
      body: shownTenant(await create.create(scopeOf(call.session), userActor(call), call.body)),
    }),
  }),
  defineDashboardRoute({
    ...one,
    method: 'PATCH',
    gate: 'requireOwnerSession',
    body: ChangeTenant,
    responses: { 200: Tenant },
    handle: async (call) => {
      const scope = scopeOf(call.session)
      const id = call.params.id as string
      const { action, ...fields } = call.body
      const row =
        action === 'unsuspend'
          ? await lifecycle.unsuspend(scope, userActor(call), id)
          : await lifecycle.patch(scope, userActor(call), id, fields)
      return { status: 200, body: shownTenant(row) }
    },
  }),
  defineDashboardRoute({
    ...one,
    method: 'PATCH',
    path: `${path}/{id}/quota`,
    gate: 'requireOwnerSession',
    body: PatchQuota,
    responses: { 200: TenantQuota },
    handle: async (call) => {
      const row = await lifecycle.patchQuota(
        scopeOf(call.session),
        userActor(call),
        call.params.id as string,
        call.body,
      )
      return { status: 200, body: shownQuota(row) }
    },
  }),
  defineDashboardRoute({
    ...one,
    method: 'DELETE',
    gate: 'requireOwnerSession',
    responses: { 200: Tenant },
    handle: async (call) => ({
      status: 200,
      body: shownTenant(await lifecycle.archive(scopeOf(call.session), userActor(call), call.params.id as string)),
    }),
  }),
]

export const dashboardTenantRoutes = (needs: Needs): DashboardRoute[] => [...readRoutes(needs), ...changeRoutes(needs)]
