/** /api/internal/domains. */
import type { ManageDomains } from '../../../senders/domains/manage.ts'
import type { MailHosts } from '../../../senders/domains/records.ts'
import {
  BindTenant,
  ChangeRegion,
  CheckDomain,
  CreateDomain,
  Domain,
  StartWarmup,
} from '../../../senders/domains/shapes.ts'
import { scopeOf, userActor } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { describedDomains, listedDomains } from '../shown-domain.ts'
import { listQuery, tenantFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

type Needs = { manage: ManageDomains; hosts: MailHosts }

export const domainDashboardRoutes = ({ manage, hosts }: Needs): DashboardRoute[] => {
  const domains = describedDomains(hosts)
  const routes = memberRoutes(domains, { path: '/api/internal/domains', write: 'requireDeveloperSession' })
  return [
    routes.list({
      query: listQuery().extend({ tenant_id: tenantFilter }),
      action: async (of, query) => listedDomains(await manage.list(of, query.cursor, query.limit + 1)),
    }),
    routes.get({ action: manage.get }),
    routes.create({ body: CreateDomain, action: manage.create }),
    defineRoute('PATCH', '/api/internal/domains', bySession('requireDeveloperSession'), {
      body: CheckDomain,
      responses: { 200: Domain },
      handle: async (call) =>
        ok(domains.show(await manage.verify(scopeOf(call.session), userActor(call), call.body.id))),
    }),
    routes.remove({ action: manage.remove }),
    routes.change({
      path: '/api/internal/domains/{id}/region',
      body: ChangeRegion,
      action: (scope, actor, id, { region }) => manage.changeRegion(scope, actor, id, region),
    }),
    routes.change({
      path: '/api/internal/domains/{id}/tenant',
      body: BindTenant,
      action: (scope, actor, id, { tenant_id: tenantId }) => manage.bindTenant(scope, actor, id, tenantId),
    }),
    routes.change({
      method: 'POST',
      path: '/api/internal/domains/{id}/warmup',
      body: StartWarmup.optional(),
      action: (scope, actor, id, body = StartWarmup.parse({})) =>
        manage.startWarmup(scope, actor, id, { days: body.days, verifiedOnly: true }),
    }),
  ]
}
