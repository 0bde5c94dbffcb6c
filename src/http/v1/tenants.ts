import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { CreateTenants } from '../../tenants/create.ts'
import type { EraseTenant } from '../../tenants/erase.ts'
import type { TenantLifecycle } from '../../tenants/lifecycle.ts'
import {
  CreateTenant,
  ErasedTenant,
  maxRefLength,
  PatchQuota,
  PatchTenant,
  readExternalRef,
  Tenant,
  TenantQuota,
  tenantStatuses,
} from '../../tenants/shapes.ts'
import { listTenants } from '../../tenants/store.ts'
import { actorOf } from '../actor.ts'
import { filteredPage, page, pageOf } from '../page.ts'
import { type Call, defineRoute, type Route } from '../route.ts'
import { shownQuota, shownTenant } from '../shown-tenant.ts'

const ListQuery = filteredPage({
  external_ref: z
    .string()
    .optional()
    .meta({
      description: 'Return only the tenant with this identifier of yours.',
      examples: ['customer-17'],
      minLength: 1,
      maxLength: maxRefLength,
    }),
  status: z.enum(tenantStatuses).optional().describe('Return only tenants with this status.'),
})

const platformOnly = { tenantKey: 'TENANT_KEY_FORBIDDEN' } as const
const platformLive = { ...platformOnly, testKey: 'ENVIRONMENT_ESCALATION' } as const
const updated = { 200: { schema: Tenant, description: 'The updated tenant.' } }

type Needs = { db: Db; create: CreateTenants; lifecycle: TenantLifecycle; erase: EraseTenant }

export const tenantRoutes = ({ db, create, lifecycle, erase }: Needs): Route[] => {
  const base = { tag: 'Tenants', scope: 'write:tenants', params: { id: 'tenant' } } as const
  /** The tenant that a call changes. A platform key that acts for one tenant by reference cannot change another one. */
  const targetOf = async ({ caller, params }: Call<unknown, unknown>): Promise<string> => {
    const id = params.id as string
    if (caller.tenantId !== null) await lifecycle.get(caller, id)
    return id
  }
  type Move = 'suspend' | 'unsuspend' | 'archive' | 'restore'
  const move = (name: Move) => async (call: Call<unknown, unknown>) => ({
    status: 200,
    body: shownTenant(await lifecycle[name](call.caller, actorOf(call), await targetOf(call))),
  })

  return [
    defineRoute({
      method: 'POST',
      path: '/tenants',
      operationId: 'createTenant',
      tag: 'Tenants',
      summary: 'Create a tenant',
      description: 'If you omit `slug`, it is derived from the name.',
      scope: 'write:tenants',
      forbiddenKeys: { tenantKey: 'TENANT_KEY_CANNOT_CREATE_TENANTS' },
      body: CreateTenant,
      responses: { 201: { schema: Tenant, description: 'The new tenant.' } },
      errors: ['TENANT_SLUG_CONFLICT', 'TENANT_EXTERNAL_REF_CONFLICT', 'PLAN_RESOURCE_LIMIT'],
      handle: async (call) => ({
        status: 201,
        body: shownTenant(await create.create(call.caller, actorOf(call), call.body)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/tenants',
      operationId: 'listTenants',
      tag: 'Tenants',
      summary: 'List tenants',
      description: 'Erased tenants are listed only with `status=erased`.',
      scope: 'read:tenants',
      query: ListQuery,
      responses: { 200: { schema: pageOf(Tenant), description: 'A page of tenants, newest first.' } },
      errors: ['INVALID_EXTERNAL_REF'],
      handle: async ({ caller, query }) => {
        const rows = await db.rows(listTenants, {
          orgId: caller.orgId,
          id: caller.tenantId,
          externalRef: readExternalRef(query.external_ref),
          status: query.status ?? null,
          ...keysetOf(query),
        })
        return { status: 200, body: page(rows, query.limit, shownTenant) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/tenants/{id}',
      operationId: 'getTenant',
      tag: 'Tenants',
      summary: 'Get a tenant',
      scope: 'read:tenants',
      params: { id: 'tenant' },
      responses: { 200: { schema: Tenant, description: 'The tenant.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: shownTenant(await lifecycle.get(caller, params.id as string)),
      }),
    }),
    defineRoute({
      ...base,
      method: 'PATCH',
      path: '/tenants/{id}',
      operationId: 'updateTenant',
      summary: 'Update a tenant',
      forbiddenKeys: platformOnly,
      body: PatchTenant,
      responses: updated,
      errors: [
        'NOT_FOUND',
        'TENANT_FORBIDDEN',
        'TENANT_EXTERNAL_REF_CONFLICT',
        'TENANT_ERASED',
        'ENVIRONMENT_ESCALATION',
      ],
      handle: async (call) => ({
        status: 200,
        body: shownTenant(await lifecycle.patch(call.caller, actorOf(call), await targetOf(call), call.body)),
      }),
    }),
    defineRoute({
      ...base,
      method: 'DELETE',
      path: '/tenants/{id}',
      operationId: 'archiveTenant',
      summary: 'Archive a tenant',
      description: 'Cancels scheduled messages of the tenant. You can restore an archived tenant.',
      forbiddenKeys: { ...platformLive, tenantKey: 'TENANT_KEY_CANNOT_DELETE' },
      responses: updated,
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_NOT_ACTIVE'],
      handle: move('archive'),
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/tenants/{id}/suspend',
      operationId: 'suspendTenant',
      summary: 'Suspend a tenant',
      description: "Blocks the tenant's API keys and cancels its scheduled messages.",
      forbiddenKeys: platformLive,
      responses: updated,
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_NOT_ACTIVE'],
      handle: move('suspend'),
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/tenants/{id}/unsuspend',
      operationId: 'unsuspendTenant',
      summary: 'Unsuspend a tenant',
      forbiddenKeys: platformOnly,
      responses: updated,
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_NOT_SUSPENDED', 'TENANT_ERASED'],
      handle: move('unsuspend'),
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/tenants/{id}/restore',
      operationId: 'restoreTenant',
      summary: 'Restore an archived tenant',
      forbiddenKeys: platformOnly,
      responses: updated,
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_NOT_ARCHIVED', 'TENANT_ERASED'],
      handle: move('restore'),
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/tenants/{id}/erase',
      operationId: 'eraseTenant',
      summary: 'Erase a suspended or archived tenant',
      description:
        "Permanently erases the tenant's data. If the request is interrupted, repeat it to continue; the counts cover the whole erasure.",
      forbiddenKeys: platformLive,
      responses: { 200: { schema: ErasedTenant, description: 'The number of erased items.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_ACTIVE'],
      handle: async (call) => {
        const row = await erase(call.caller, actorOf(call), await targetOf(call))
        const { id, erased_at, erasure } = row
        return {
          status: 200,
          body: { id, status: row.status, erased_at: erased_at?.toISOString(), ...erasure },
        }
      },
    }),
    defineRoute({
      ...base,
      method: 'PATCH',
      path: '/tenants/{id}/quota',
      operationId: 'updateTenantQuota',
      summary: "Update a tenant's monthly quota",
      description: 'Omitted fields do not change. `null` removes the quota, and `0` blocks all sends on the channel.',
      forbiddenKeys: platformOnly,
      body: PatchQuota,
      responses: { 200: { schema: TenantQuota, description: 'The updated quota.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_ERASED', 'ENVIRONMENT_ESCALATION'],
      handle: async (call) => {
        const row = await lifecycle.patchQuota(call.caller, actorOf(call), await targetOf(call), call.body)
        return { status: 200, body: shownQuota(row) }
      },
    }),
  ]
}
