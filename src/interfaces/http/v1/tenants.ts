import { z } from 'zod'
import type { Caller } from '../../../customers/keys/caller.ts'
import type { CreateTenants } from '../../../customers/tenants/create.ts'
import type { EraseTenant } from '../../../customers/tenants/erase.ts'
import type { TenantLifecycle } from '../../../customers/tenants/lifecycle.ts'
import {
  CreateTenant,
  ErasedTenant,
  maxRefLength,
  PatchQuota,
  PatchTenant,
  readExternalRef,
  tenantStatuses,
} from '../../../customers/tenants/shapes.ts'
import type { TenantRow } from '../../../customers/tenants/store.ts'
import type { Actor } from '../../../journal/audit/append.ts'
import { actorOf } from '../actor.ts'
import { filteredPage } from '../page.ts'
import { ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { quotas, tenants } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

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
const place = {
  tag: 'Tenants',
  path: '/tenants',
  name: 'Tenant',
  read: byKey('read:tenants'),
  write: byKey('write:tenants', platformOnly),
}

const routes = publicRoutes(tenants, place)

type Change<Body> = (caller: Caller, actor: Actor, id: string, body: Body) => Promise<TenantRow>

type Needs = { create: CreateTenants; lifecycle: TenantLifecycle; erase: EraseTenant }

export const tenantRoutes = ({ create, lifecycle, erase }: Needs): PublicRoute[] => {
  /** A platform key that acts for one tenant by reference cannot change another one. */
  const assertReached = async (caller: Caller, id: string): Promise<void> => {
    if (caller.tenantId !== null) await lifecycle.get(caller, id)
  }
  const reaching =
    <Body>(change: Change<Body>): Change<Body> =>
    async (caller, actor, id, body) => {
      await assertReached(caller, id)
      return change(caller, actor, id, body)
    }

  return [
    routes.create({
      description: 'If you omit `slug`, it is derived from the name.',
      access: byKey('write:tenants', { tenantKey: 'TENANT_KEY_CANNOT_CREATE_TENANTS' }),
      body: CreateTenant,
      errors: ['TENANT_SLUG_CONFLICT', 'TENANT_EXTERNAL_REF_CONFLICT', 'PLAN_RESOURCE_LIMIT'],
      action: create.create,
    }),
    routes.list({
      description: 'Erased tenants are listed only with `status=erased`.',
      query: ListQuery,
      errors: ['INVALID_EXTERNAL_REF'],
      action: (caller, query) => {
        const filters = { externalRef: readExternalRef(query.external_ref), status: query.status ?? null }
        return lifecycle.list(caller, filters, query)
      },
    }),
    routes.get({
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN'],
      action: lifecycle.get,
    }),
    routes.change({
      body: PatchTenant,
      errors: [
        'NOT_FOUND',
        'TENANT_FORBIDDEN',
        'TENANT_EXTERNAL_REF_CONFLICT',
        'TENANT_ERASED',
        'ENVIRONMENT_ESCALATION',
      ],
      action: reaching(lifecycle.patch),
    }),
    routes.change({
      method: 'DELETE',
      operationId: 'archiveTenant',
      summary: 'Archive a tenant',
      description: 'Cancels scheduled messages of the tenant. You can restore an archived tenant.',
      access: byKey('write:tenants', { ...platformLive, tenantKey: 'TENANT_KEY_CANNOT_DELETE' }),
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_NOT_ACTIVE'],
      action: reaching(lifecycle.archive),
    }),
    routes.change({
      method: 'POST',
      path: '/tenants/{id}/suspend',
      operationId: 'suspendTenant',
      summary: 'Suspend a tenant',
      description: "Blocks the tenant's API keys and cancels its scheduled messages.",
      access: byKey('write:tenants', platformLive),
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_NOT_ACTIVE'],
      action: reaching(lifecycle.suspend),
    }),
    routes.change({
      method: 'POST',
      path: '/tenants/{id}/unsuspend',
      operationId: 'unsuspendTenant',
      summary: 'Unsuspend a tenant',
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_NOT_SUSPENDED', 'TENANT_ERASED'],
      action: reaching(lifecycle.unsuspend),
    }),
    routes.change({
      method: 'POST',
      path: '/tenants/{id}/restore',
      operationId: 'restoreTenant',
      summary: 'Restore an archived tenant',
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_NOT_ARCHIVED', 'TENANT_ERASED'],
      action: reaching(lifecycle.restore),
    }),
    defineRoute('POST', '/tenants/{id}/erase', byKey('write:tenants', platformLive), {
      operationId: 'eraseTenant',
      tag: 'Tenants',
      summary: 'Erase a suspended or archived tenant',
      description:
        "Permanently erases the tenant's data. If the request is interrupted, repeat it to continue; the counts cover the whole erasure.",
      params: { id: 'tenant' },
      responses: { 200: { schema: ErasedTenant, description: 'The number of erased items.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_ACTIVE'],
      handle: async (call) => {
        await assertReached(call.caller, call.params.id)
        const { id, status, erased_at, erasure } = await erase(call.caller, actorOf(call), call.params.id)
        return ok({ id, status, erased_at: erased_at?.toISOString(), ...erasure })
      },
    }),
    publicRoutes(quotas, { ...place, name: 'TenantQuota' }).change({
      path: '/tenants/{id}/quota',
      summary: "Update a tenant's monthly quota",
      description: 'Omitted fields do not change. `null` removes the quota, and `0` blocks all sends on the channel.',
      body: PatchQuota,
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'TENANT_ERASED', 'ENVIRONMENT_ESCALATION'],
      action: reaching(lifecycle.patchQuota),
    }),
  ]
}
