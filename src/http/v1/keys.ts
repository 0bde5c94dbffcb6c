import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { givenId } from '../../ground/bounded-text.ts'
import { Failure } from '../../ground/errors.ts'
import type { ManageKeys } from '../../keys/manage.ts'
import { CreatedKey, CreateKey, Key, PatchKey, RevokedKey } from '../../keys/shapes.ts'
import { listManagedKeys } from '../../keys/store.ts'
import { actorOf } from '../actor.ts'
import { filteredPage, page, pageOf } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownKey, shownNewKey } from '../shown-key.ts'

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

type Needs = { db: Db; manage: ManageKeys }

export const keyRoutes = ({ db, manage }: Needs): Route[] => [
  defineRoute({
    method: 'POST',
    path: '/keys',
    operationId: 'createKey',
    tag: 'Keys',
    summary: 'Create an API key',
    description:
      'The response contains the key itself, which is not shown again. A key cannot create a key with more permissions than its own.',
    scope: 'write:keys',
    body: CreateKey,
    responses: { 201: { schema: CreatedKey, description: 'The new API key.' } },
    errors: [...escalations, 'PLAN_RESOURCE_LIMIT', 'KEY_CREATION_RATE_LIMITED'],
    handle: async (call) => ({
      status: 201,
      body: shownNewKey(await manage.create(call.caller, actorOf(call), call.body)),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/keys',
    operationId: 'listKeys',
    tag: 'Keys',
    summary: 'List API keys',
    scope: 'read:keys',
    query: ListQuery,
    responses: { 200: { schema: pageOf(Key), description: 'A page of API keys, newest first.' } },
    errors: ['TENANT_FORBIDDEN'],
    handle: async ({ caller, query }) => {
      if (caller.tenantId !== null && query.tenant_id !== undefined && query.tenant_id !== caller.tenantId) {
        throw new Failure('TENANT_FORBIDDEN')
      }
      // A test key sees only test keys, even if the query requests live ones.
      if (caller.environment === 'test' && query.environment === 'live') {
        return { status: 200, body: page([], query.limit, shownKey) }
      }
      const environment = caller.environment === 'test' ? 'test' : (query.environment ?? null)
      const rows = await db.rows(listManagedKeys, {
        orgId: caller.orgId,
        tenantId: caller.tenantId ?? query.tenant_id ?? null,
        projectId: caller.projectId,
        environment,
        includeRevoked: query.include_revoked === 'true',
        afterAt: query.cursor?.createdAt ?? null,
        afterId: query.cursor?.id ?? null,
        limit: query.limit + 1,
      })
      return { status: 200, body: page(rows, query.limit, shownKey) }
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/keys/{id}',
    operationId: 'getKey',
    tag: 'Keys',
    summary: 'Get an API key',
    scope: 'read:keys',
    params: { id: 'key' },
    responses: { 200: { schema: Key, description: 'The API key, without its secret.' } },
    errors: ['NOT_FOUND'],
    handle: async ({ caller, params }) => ({
      status: 200,
      body: shownKey(await manage.get(caller, params.id as string)),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/keys/{id}',
    operationId: 'updateKey',
    tag: 'Keys',
    summary: 'Update an API key',
    description:
      'Omitted fields do not change. Set a restriction to `null` to remove it. Changes apply from the next request.',
    scope: 'write:keys',
    params: { id: 'key' },
    body: PatchKey,
    responses: { 200: { schema: Key, description: 'The updated API key.' } },
    errors: [...escalations, 'NOT_FOUND', 'KEY_REVOKED'],
    handle: async (call) => ({
      status: 200,
      body: shownKey(await manage.patch(call.caller, actorOf(call), call.params.id as string, call.body)),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/keys/{id}',
    operationId: 'revokeKey',
    tag: 'Keys',
    summary: 'Revoke an API key',
    description: 'The key stops working from the next request. Revoking a revoked key returns the same response.',
    scope: 'write:keys',
    params: { id: 'key' },
    responses: { 200: { schema: RevokedKey, description: 'The API key was revoked.' } },
    errors: ['NOT_FOUND', 'SELF_REVOKE_FORBIDDEN', 'ENVIRONMENT_ESCALATION', 'TENANT_FORBIDDEN'],
    handle: async (call) => {
      const { id, revokedAt } = await manage.revoke(call.caller, actorOf(call), call.params.id as string)
      return { status: 200, body: { id, revoked_at: revokedAt.toISOString() } }
    },
  }),
]
