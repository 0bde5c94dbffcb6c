import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { Failure } from '../../ground/errors.ts'
import type { ManageKeys } from '../../keys/manage.ts'
import { CreatedKey, CreateKey, Key, PatchKey, RevokedKey } from '../../keys/shapes.ts'
import { listManagedKeys } from '../../keys/store.ts'
import { actorOf } from '../actor.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownKey } from '../shown-key.ts'

const ListQuery = pageQuery.extend({
  environment: z.enum(['live', 'test']).optional(),
  tenant_id: z.string().optional(),
  include_revoked: z.enum(['true', 'false']).default('false'),
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
    tag: 'Keys',
    summary: 'Create a key',
    about: 'The key itself is in this answer and never again. A key cannot create one that may do more than itself.',
    scope: 'write:keys',
    body: CreateKey,
    answers: { 201: { schema: CreatedKey, about: 'The new key.' } },
    refuses: [...escalations, 'PLAN_RESOURCE_LIMIT', 'KEY_CREATION_RATE_LIMITED'],
    handle: async (call) => {
      const { row, key } = await manage.create(call.caller, actorOf(call), call.body)
      const { id, name, environment, ...rest } = shownKey(row)
      return { status: 201, body: { id, name, environment, key, ...rest } }
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/keys',
    tag: 'Keys',
    summary: 'List keys',
    scope: 'read:keys',
    query: ListQuery,
    answers: { 200: { schema: pageOf(Key), about: 'A page, newest first.' } },
    refuses: ['TENANT_FORBIDDEN'],
    handle: async ({ caller, query }) => {
      if (caller.tenantId !== null && query.tenant_id !== undefined && query.tenant_id !== caller.tenantId) {
        throw new Failure('TENANT_FORBIDDEN')
      }
      // A test key sees only test keys, whatever it asks for.
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
    tag: 'Keys',
    summary: 'Get a key',
    scope: 'read:keys',
    params: { id: 'key' },
    answers: { 200: { schema: Key, about: 'The key, without its secret.' } },
    refuses: ['NOT_FOUND'],
    handle: async ({ caller, params }) => ({
      status: 200,
      body: shownKey(await manage.get(caller, params.id as string)),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/keys/{id}',
    tag: 'Keys',
    summary: 'Change a key',
    about: 'A field left out stays as it is; null removes that restriction. In force from the next request on.',
    scope: 'write:keys',
    params: { id: 'key' },
    body: PatchKey,
    answers: { 200: { schema: Key, about: 'The key as it is now.' } },
    refuses: [...escalations, 'NOT_FOUND', 'KEY_REVOKED'],
    handle: async (call) => ({
      status: 200,
      body: shownKey(await manage.patch(call.caller, actorOf(call), call.params.id as string, call.body)),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/keys/{id}',
    tag: 'Keys',
    summary: 'Revoke a key',
    about: 'In force from the next request on. Revoking it again answers the same.',
    scope: 'write:keys',
    params: { id: 'key' },
    answers: { 200: { schema: RevokedKey, about: 'Revoked.' } },
    refuses: ['NOT_FOUND', 'SELF_REVOKE_FORBIDDEN', 'ENVIRONMENT_ESCALATION', 'TENANT_FORBIDDEN'],
    handle: async (call) => {
      const { id, revokedAt } = await manage.revoke(call.caller, actorOf(call), call.params.id as string)
      return { status: 200, body: { id, revoked_at: revokedAt.toISOString() } }
    },
  }),
]
