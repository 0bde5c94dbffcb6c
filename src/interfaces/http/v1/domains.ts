import { Failure } from '../../../platform/ground/errors.ts'
import type { ManageDomains } from '../../../senders/domains/manage.ts'
import type { MailHosts } from '../../../senders/domains/records.ts'
import { CreateDomain, PatchDomain, StartWarmup } from '../../../senders/domains/shapes.ts'
import type { PublicRoute } from '../route.ts'
import { byKey } from '../route-access.ts'
import { describedDomains, listedDomains } from '../shown-domain.ts'
import { publicRoutes } from './public-routes.ts'

const writeErrors = ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'] as const

type Needs = { manage: ManageDomains; hosts: MailHosts }

/** The provider has to know a domain before it sends mail from it. */
const identityErrors = ['PROVIDER_UNAVAILABLE', 'PROVIDER_EMPTY', 'PROVIDER_ERROR'] as const

export const domainRoutes = ({ manage, hosts }: Needs): PublicRoute[] => {
  const routes = publicRoutes('Domains', describedDomains(hosts))
  return [
    routes.create({
      path: '/domains',
      operationId: 'createDomain',
      summary: 'Add a domain',
      description: 'Returns the DNS records to publish. The domain is verified once its DKIM record is found in DNS.',
      access: byKey('write:domains'),
      body: CreateDomain,
      errors: ['DOMAIN_ALREADY_ADDED', 'DOMAIN_RESERVED', 'PLAN_RESOURCE_LIMIT', 'TENANT_FORBIDDEN', ...identityErrors],
      action: manage.create,
    }),
    routes.list({
      path: '/domains',
      operationId: 'listDomains',
      summary: 'List domains',
      access: byKey('read:domains'),
      action: async (caller, query) => listedDomains(await manage.list(caller, query.cursor, query.limit + 1)),
    }),
    routes.get({
      path: '/domains/{id}',
      operationId: 'getDomain',
      summary: 'Get a domain',
      access: byKey('read:domains'),
      action: manage.get,
    }),
    routes.change({
      method: 'POST',
      path: '/domains/{id}/verify',
      operationId: 'verifyDomain',
      summary: 'Verify a domain',
      description:
        'Looks up the DNS records of the domain and returns the result. Limited to 10 requests per minute per domain.',
      access: byKey('write:domains'),
      errors: [...writeErrors, 'RATE_LIMITED'],
      action: manage.verify,
    }),
    routes.change({
      path: '/domains/{id}',
      operationId: 'updateDomain',
      summary: 'Update a domain',
      description:
        'A dedicated IP pool must be in the same region as the domain. Set `ip_pool_id` to `null` to use shared IP addresses.',
      access: byKey('write:domains'),
      body: PatchDomain,
      errors: [...writeErrors, 'TENANT_KEY_FORBIDDEN'],
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
      path: '/domains/{id}',
      operationId: 'deleteDomain',
      summary: 'Delete a domain',
      description:
        'You can no longer send from the domain. API keys that were restricted to it do not gain access to other domains.',
      access: byKey('write:domains'),
      errors: [...writeErrors, ...identityErrors],
      action: manage.remove,
    }),
    routes.change({
      method: 'POST',
      path: '/domains/{id}/warmup',
      operationId: 'startDomainWarmup',
      summary: 'Start warmup',
      description:
        'Limits the number of recipients per UTC day: 50 on the first day, and twice as many on each following day.',
      access: byKey('write:domains'),
      body: StartWarmup.optional(),
      errors: [...writeErrors, 'WARMUP_ALREADY_ACTIVE'],
      action: (caller, actor, id, body = StartWarmup.parse({})) =>
        manage.startWarmup(caller, actor, id, { days: body.days }),
    }),
    routes.change({
      method: 'DELETE',
      path: '/domains/{id}/warmup',
      operationId: 'endDomainWarmup',
      summary: 'End warmup',
      description: 'Removes the daily limit immediately. Has no effect if the domain is not warming up.',
      access: byKey('write:domains'),
      errors: writeErrors,
      action: (caller, _actor, id) => manage.endWarmup(caller, id),
    }),
  ]
}
