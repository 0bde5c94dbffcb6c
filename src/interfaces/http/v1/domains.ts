import { Failure } from '../../../platform/ground/errors.ts'
import type { ManageDomains } from '../../../senders/domains/manage.ts'
import type { MailHosts } from '../../../senders/domains/records.ts'
import { CreateDomain, PatchDomain, StartWarmup } from '../../../senders/domains/shapes.ts'
import { byKey, type PublicRoute } from '../route.ts'
import { describedDomains, listedDomains } from '../shown-domain.ts'
import { publicRoutes, refusals } from './public-routes.ts'

type Needs = { manage: ManageDomains; hosts: MailHosts }

/** The provider has to know a domain before it sends mail from it. */
const identityErrors = ['PROVIDER_UNAVAILABLE', 'PROVIDER_EMPTY', 'PROVIDER_ERROR'] as const

export const domainRoutes = ({ manage, hosts }: Needs): PublicRoute[] => {
  const routes = publicRoutes(describedDomains(hosts), {
    tag: 'Domains',
    path: '/domains',
    name: 'Domain',
    read: byKey('read:domains'),
    write: byKey('write:domains'),
  })
  return [
    routes.create({
      summary: 'Add a domain',
      description: 'Returns the DNS records to publish. The domain is verified once its DKIM record is found in DNS.',
      body: CreateDomain,
      errors: ['DOMAIN_ALREADY_ADDED', 'DOMAIN_RESERVED', 'PLAN_RESOURCE_LIMIT', 'TENANT_FORBIDDEN', ...identityErrors],
      action: manage.create,
    }),
    routes.list({
      action: async (caller, query) => listedDomains(await manage.list(caller, query.cursor, query.limit + 1)),
    }),
    routes.get({ action: manage.get }),
    routes.change({
      method: 'POST',
      path: '/domains/{id}/verify',
      operationId: 'verifyDomain',
      summary: 'Verify a domain',
      description:
        'Looks up the DNS records of the domain and returns the result. Limited to 10 requests per minute per domain.',
      errors: [...refusals, 'RATE_LIMITED'],
      action: manage.verify,
    }),
    routes.change({
      description:
        'A dedicated IP pool must be in the same region as the domain. Set `ip_pool_id` to `null` to use shared IP addresses.',
      body: PatchDomain,
      errors: [...refusals, 'TENANT_KEY_FORBIDDEN'],
      action: async (caller, _actor, id, body) => {
        // Only platform keys in live mode manage pools, and that includes assigning a domain to one.
        if (body.ip_pool_id !== undefined) {
          if (caller.tenantState !== undefined) throw new Failure('TENANT_KEY_FORBIDDEN')
          if (caller.environment === 'test') throw new Failure('ENVIRONMENT_ESCALATION')
        }
        return manage.patch(caller, id, body)
      },
    }),
    routes.remove({
      description:
        'You can no longer send from the domain. API keys that were restricted to it do not gain access to other domains.',
      errors: [...refusals, ...identityErrors],
      action: manage.remove,
    }),
    routes.change({
      method: 'POST',
      path: '/domains/{id}/warmup',
      operationId: 'startDomainWarmup',
      summary: 'Start warmup',
      description:
        'Limits the number of recipients per UTC day: 50 on the first day, and twice as many on each following day.',
      body: StartWarmup.optional(),
      errors: [...refusals, 'WARMUP_ALREADY_ACTIVE'],
      action: (caller, actor, id, body = StartWarmup.parse({})) =>
        manage.startWarmup(caller, actor, id, { days: body.days }),
    }),
    routes.change({
      method: 'DELETE',
      path: '/domains/{id}/warmup',
      operationId: 'endDomainWarmup',
      summary: 'End warmup',
      description: 'Removes the daily limit immediately. Has no effect if the domain is not warming up.',
      action: (caller, _actor, id) => manage.endWarmup(caller, id),
    }),
  ]
}
