/** /api/internal/api-keys. Every member sees the keys, without their secrets. Only owners change them. */
import { z } from 'zod'
import type { KeyOwner, ManageKeys } from '../../../customers/keys/manage.ts'
import { CreatedKey, CreateKey, Key, PatchKey, RevokedKey } from '../../../customers/keys/shapes.ts'
import type { KeyRow } from '../../../customers/keys/store.ts'
import type { UserActor } from '../../../journal/audit/append.ts'
import { ById } from '../../../people/team/shapes.ts'
import { refusing } from '../../../platform/ground/refused-fields.ts'
import type { Scope } from '../../../platform/ground/scope.ts'
import { scopeOf, userActor } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { resource } from '../shown-resource.ts'
import { keys, newKeys } from '../shown-resources.ts'
import { environmentFilter, listQuery, tenantFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

const createdBy = { created_by: z.string().nullable() }

const dashboardKeys = resource({
  ...keys,
  item: Key.extend(createdBy),
  show: (row: KeyRow) => ({ ...keys.show(row), created_by: row.created_by }),
})
const newDashboardKeys = resource({
  ...newKeys,
  item: CreatedKey.extend(createdBy),
  show: (made: { row: KeyRow; key: string }) => ({ ...newKeys.show(made), created_by: made.row.created_by }),
})
const path = '/api/internal/api-keys'
const routes = memberRoutes(dashboardKeys, { path })

const ownerOf = (scope: Scope, { userId }: UserActor): KeyOwner => ({ ...scope, keyId: null, userId })

export const dashboardKeyRoutes = ({ manage }: { manage: ManageKeys }): DashboardRoute[] => [
  routes.list({
    query: refusing(listQuery().extend({ environment: environmentFilter, tenant_id: tenantFilter }), {
      include_revoked: 'Keys are listed for 90 days after they are revoked.',
    }),
    action: ({ orgId, tenantId }, query) =>
      manage.listForOrg(orgId, { environment: query.environment ?? null, tenantId }, query),
  }),
  memberRoutes(newDashboardKeys, { path }).create({
    body: CreateKey,
    action: (scope, actor, body) => manage.create(ownerOf(scope, actor), actor, body),
  }),
  routes.get({ action: manage.get }),
  routes.change({
    path: `${path}/{id}`,
    body: PatchKey,
    action: (scope, actor, id, body) => manage.patch(ownerOf(scope, actor), actor, id, body),
  }),
  defineRoute('DELETE', path, bySession('requireOwnerSession'), {
    query: ById,
    responses: { 200: RevokedKey },
    handle: async (call) => {
      const actor = userActor(call)
      const { id, revokedAt } = await manage.revoke(ownerOf(scopeOf(call.session), actor), actor, call.query.id)
      return ok({ id, revoked_at: revokedAt.toISOString() })
    },
  }),
]
