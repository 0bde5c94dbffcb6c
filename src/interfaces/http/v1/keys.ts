import { z } from 'zod'
import type { ManageKeys } from '../../../customers/keys/manage.ts'
import { CreateKey, PatchKey, RevokedKey } from '../../../customers/keys/shapes.ts'
import { givenId } from '../../../platform/ground/bounded-text.ts'
import { actorOf } from '../actor.ts'
import { filteredPage } from '../page.ts'
import { ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { keys, newKeys } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const ListQuery = filteredPage({
  environment: z.enum(['live', 'test']).optional().describe('Return only keys of this environment.'),
  tenant_id: givenId.optional().meta({
    description: 'Return only keys that are bound to this tenant.',
    examples: ['ten_01k5w3v8q6e9rbx2t7m4n0c1yz'],
  }),
  include_revoked: z.enum(['true', 'false']).default('false').describe('Set to `true` to include revoked keys.'),
})

const escalations = [
  'SCOPE_ESCALATION',
  'DOMAIN_SCOPE_ESCALATION',
  'CIDR_SCOPE_ESCALATION',
  'EXPIRY_ESCALATION',
  'RATE_LIMIT_ESCALATION',
  'ENVIRONMENT_ESCALATION',
  'TENANT_FORBIDDEN',
] as const

const place = { tag: 'Keys', path: '/keys', name: 'Key', read: byKey('read:keys'), write: byKey('write:keys') }

const routes = publicRoutes(keys, place)

export const keyRoutes = ({ manage }: { manage: ManageKeys }): PublicRoute[] => [
  publicRoutes(newKeys, place).create({
    description:
      'The response contains the key itself, which is not shown again. A key cannot create a key with more permissions than its own.',
    body: CreateKey,
    errors: [...escalations, 'PLAN_RESOURCE_LIMIT', 'KEY_CREATION_RATE_LIMITED'],
    action: manage.create,
  }),
  routes.list({
    query: ListQuery,
    errors: ['TENANT_FORBIDDEN'],
    action: (caller, query) => {
      const { tenant_id: tenantId = null, environment = null, include_revoked: revoked } = query
      return manage.list(caller, { tenantId, environment, includeRevoked: revoked === 'true' }, query)
    },
  }),
  routes.get({
    response: 'The API key, without its secret.',
    action: manage.get,
  }),
  routes.change({
    description:
      'Omitted fields do not change. Set a restriction to `null` to remove it. Changes apply from the next request.',
    body: PatchKey,
    errors: [...escalations, 'NOT_FOUND', 'KEY_REVOKED'],
    action: manage.patch,
  }),
  defineRoute('DELETE', '/keys/{id}', byKey('write:keys'), {
    operationId: 'revokeKey',
    tag: 'Keys',
    summary: 'Revoke an API key',
    description: 'The key stops working from the next request. Revoking a revoked key returns the same response.',
    params: { id: 'key' },
    responses: { 200: { schema: RevokedKey, description: 'The API key was revoked.' } },
    errors: ['NOT_FOUND', 'SELF_REVOKE_FORBIDDEN', 'ENVIRONMENT_ESCALATION', 'TENANT_FORBIDDEN'],
    handle: async (call) => {
      const { id, revokedAt } = await manage.revoke(call.caller, actorOf(call), call.params.id)
      return ok({ id, revoked_at: revokedAt.toISOString() })
    },
  }),
]
