import type { ManageDomains } from '../../domains/manage.ts'
import type { MailHosts } from '../../domains/records.ts'
import { CreateDomain, Domain, PatchDomain, StartWarmup } from '../../domains/shapes.ts'
import { Failure } from '../../ground/errors.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { listedDomains, makeShowDomain } from '../shown-domain.ts'

const writeErrors = ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'] as const

type Needs = { manage: ManageDomains; hosts: MailHosts }

/** The provider has to know a domain before it sends mail from it. */
const identityErrors = ['PROVIDER_UNAVAILABLE', 'PROVIDER_EMPTY', 'PROVIDER_ERROR'] as const

export const domainRoutes = ({ manage, hosts }: Needs): Route[] => {
  const show = makeShowDomain(hosts)
  const base = { tag: 'Domains', scope: 'write:domains', params: { id: 'domain' } } as const
  const responses = { 200: { schema: Domain, description: 'The updated domain.' } }

  return [
    defineRoute({
      method: 'POST',
      path: '/domains',
      operationId: 'createDomain',
      tag: 'Domains',
      summary: 'Add a domain',
      description: 'Returns the DNS records to publish. The domain is verified once its DKIM record is found in DNS.',
      scope: 'write:domains',
      body: CreateDomain,
      responses: { 201: { schema: Domain, description: 'The new domain.' } },
      errors: ['DOMAIN_ALREADY_ADDED', 'DOMAIN_RESERVED', 'PLAN_RESOURCE_LIMIT', 'TENANT_FORBIDDEN', ...identityErrors],
      handle: async (call) => ({
        status: 201,
        body: show(await manage.create(call.caller, actorOf(call), call.body)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/domains',
      operationId: 'listDomains',
      tag: 'Domains',
      summary: 'List domains',
      scope: 'read:domains',
      query: pageQuery,
      responses: { 200: { schema: pageOf(Domain), description: 'A page of domains, newest first.' } },
      handle: async ({ caller, query }) => {
        const views = await manage.list(caller, query.cursor, query.limit + 1)
        return { status: 200, body: page(listedDomains(views), query.limit, show) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/domains/{id}',
      operationId: 'getDomain',
      tag: 'Domains',
      summary: 'Get a domain',
      scope: 'read:domains',
      params: { id: 'domain' },
      responses: { 200: { schema: Domain, description: 'The domain.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: show(await manage.get(caller, params.id as string)),
      }),
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/domains/{id}/verify',
      operationId: 'verifyDomain',
      summary: 'Verify a domain',
      description:
        'Looks up the DNS records of the domain and returns the result. Limited to 10 requests per minute per domain.',
      responses,
      errors: [...writeErrors, 'RATE_LIMITED'],
      handle: async (call) => ({
        status: 200,
        body: show(await manage.verify(call.caller, actorOf(call), call.params.id as string)),
      }),
    }),
    defineRoute({
      ...base,
      method: 'PATCH',
      path: '/domains/{id}',
      operationId: 'updateDomain',
      summary: 'Update a domain',
      description:
        'A dedicated IP pool must be in the same region as the domain. Set `ip_pool_id` to `null` to use shared IP addresses.',
      body: PatchDomain,
      responses,
      errors: [...writeErrors, 'TENANT_KEY_FORBIDDEN'],
      handle: async ({ caller, params, body }) => {
        // Only platform keys in live mode manage pools, and that includes assigning a domain to one.
        if (body.ip_pool_id !== undefined) {
          if (caller.tenantState !== undefined) throw new Failure('TENANT_KEY_FORBIDDEN')
          if (caller.environment === 'test') throw new Failure('ENVIRONMENT_ESCALATION')
        }
        return { status: 200, body: show(await manage.patch(caller, params.id as string, body)) }
      },
    }),
    defineRoute({
      ...base,
      method: 'DELETE',
      path: '/domains/{id}',
      operationId: 'deleteDomain',
      summary: 'Delete a domain',
      description:
        'You can no longer send from the domain. API keys that were restricted to it do not gain access to other domains.',
      responses: { 200: { schema: Deleted, description: 'The domain was deleted.' } },
      errors: [...writeErrors, ...identityErrors],
      handle: async (call) => {
        const id = call.params.id as string
        await manage.remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/domains/{id}/warmup',
      operationId: 'startDomainWarmup',
      summary: 'Start warmup',
      description:
        'Limits the number of recipients per UTC day: 50 on the first day, and twice as many on each following day.',
      body: StartWarmup.optional(),
      responses,
      errors: [...writeErrors, 'WARMUP_ALREADY_ACTIVE'],
      handle: async (call) => {
        const { days } = call.body ?? StartWarmup.parse({})
        const view = await manage.startWarmup(call.caller, actorOf(call), call.params.id as string, { days })
        return { status: 200, body: show(view) }
      },
    }),
    defineRoute({
      ...base,
      method: 'DELETE',
      path: '/domains/{id}/warmup',
      operationId: 'endDomainWarmup',
      summary: 'End warmup',
      description: 'Removes the daily limit immediately. Has no effect if the domain is not warming up.',
      responses,
      errors: writeErrors,
      handle: async ({ caller, params }) => ({
        status: 200,
        body: show(await manage.endWarmup(caller, params.id as string)),
      }),
    }),
  ]
}
