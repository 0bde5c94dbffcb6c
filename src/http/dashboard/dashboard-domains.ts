/** /api/internal/domains. */

import type { ManageDomains } from '../../domains/manage.ts'
import type { MailHosts } from '../../domains/records.ts'
import { BindTenant, ChangeRegion, CheckDomain, CreateDomain, Domain, StartWarmup } from '../../domains/shapes.ts'
import { ById } from '../../team/shapes.ts'
import { Deleted } from '../deleted.ts'
import { page } from '../page.ts'
import { listedDomains, makeShowDomain } from '../shown-domain.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { tenantFilter } from './filters.ts'
import { listOf, listQuery } from './list-query.ts'
import { scopeOf } from './member-scope.ts'

type Needs = { manage: ManageDomains; hosts: MailHosts }

export const domainDashboardRoutes = ({ manage, hosts }: Needs): DashboardRoute[] => {
  const show = makeShowDomain(hosts)
  const oneDomain = { gate: 'requireDeveloperSession', params: { id: 'domain' }, responses: { 200: Domain } } as const

  return [
    defineDashboardRoute({
      method: 'GET',
      path: '/api/internal/domains',
      gate: 'requireSession',
      query: listQuery().extend({ tenant_id: tenantFilter }),
      responses: { 200: listOf(Domain) },
      handle: async ({ session, query }) => {
        const scope = { ...scopeOf(session), tenantId: query.tenant_id ?? null }
        const views = await manage.list(scope, query.cursor, query.limit + 1)
        return { status: 200, body: page(listedDomains(views), query.limit, show) }
      },
    }),
    defineDashboardRoute({
      method: 'POST',
      path: '/api/internal/domains',
      gate: 'requireDeveloperSession',
      body: CreateDomain,
      responses: { 201: Domain },
      handle: async (call) => ({
        status: 201,
        body: show(await manage.create(scopeOf(call.session), userActor(call), call.body)),
      }),
    }),
    defineDashboardRoute({
      method: 'PATCH',
      path: '/api/internal/domains',
      gate: 'requireDeveloperSession',
      body: CheckDomain,
      responses: { 200: Domain },
      handle: async (call) => ({
        status: 200,
        body: show(await manage.verify(scopeOf(call.session), userActor(call), call.body.id)),
      }),
    }),
    defineDashboardRoute({
      method: 'DELETE',
      path: '/api/internal/domains',
      gate: 'requireDeveloperSession',
      query: ById,
      responses: { 200: Deleted },
      handle: async (call) => {
        const { id } = call.query
        await manage.remove(scopeOf(call.session), userActor(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
    defineDashboardRoute({
      ...oneDomain,
      method: 'PATCH',
      path: '/api/internal/domains/{id}/region',
      body: ChangeRegion,
      handle: async (call) => {
        const { region } = call.body
        const view = await manage.changeRegion(scopeOf(call.session), userActor(call), call.params.id as string, region)
        return { status: 200, body: show(view) }
      },
    }),
    defineDashboardRoute({
      ...oneDomain,
      method: 'PATCH',
      path: '/api/internal/domains/{id}/tenant',
      body: BindTenant,
      handle: async (call) => {
        const { tenant_id: tenantId } = call.body
        const view = await manage.bindTenant(scopeOf(call.session), userActor(call), call.params.id as string, tenantId)
        return { status: 200, body: show(view) }
      },
    }),
    defineDashboardRoute({
      ...oneDomain,
      method: 'POST',
      path: '/api/internal/domains/{id}/warmup',
      body: StartWarmup.optional(),
      handle: async (call) => {
        const { days } = call.body ?? StartWarmup.parse({})
        const warmup = { days, verifiedOnly: true }
        const view = await manage.startWarmup(scopeOf(call.session), userActor(call), call.params.id as string, warmup)
        return { status: 200, body: show(view) }
      },
    }),
  ]
}
