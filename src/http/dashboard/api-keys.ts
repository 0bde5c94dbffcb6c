/** /api/internal/api-keys. Every member sees the keys, without their secrets. Only owners change them. */

import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { refusing } from '../../ground/refused-fields.ts'
import type { KeyOwner, ManageKeys } from '../../keys/manage.ts'
import { CreatedKey, CreateKey, Key, PatchKey, RevokedKey } from '../../keys/shapes.ts'
import { type KeyRow, listKeys } from '../../keys/store.ts'
import { ById } from '../../team/shapes.ts'
import { page } from '../page.ts'
import { shownKey, shownNewKey } from '../shown-key.ts'
import { type DashboardRoute, defineDashboardRoute, type MemberSession, userActor } from './dashboard-route.ts'
import { environmentFilter, tenantFilter } from './filters.ts'
import { listOf, listQuery } from './list-query.ts'
import { scopeOf } from './member-scope.ts'

const revokedShownMs = 90 * 86_400_000

const createdBy = { created_by: z.string().nullable() }
const DashboardKey = Key.extend(createdBy)
const NewDashboardKey = CreatedKey.extend(createdBy)
const show = (row: KeyRow): z.output<typeof DashboardKey> => ({ ...shownKey(row), created_by: row.created_by })

const ownerOf = (session: MemberSession): KeyOwner => ({ ...scopeOf(session), keyId: null, userId: session.userId })

type Needs = { db: Db; clock: Clock; manage: ManageKeys }

export const dashboardKeyRoutes = ({ db, clock, manage }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/api-keys',
    gate: 'requireSession',
    query: refusing(listQuery().extend({ environment: environmentFilter, tenant_id: tenantFilter }), {
      include_revoked: 'Keys are listed for 90 days after they are revoked.',
    }),
    responses: { 200: listOf(DashboardKey) },
    handle: async ({ session, query }) => {
      const { environment = null, tenant_id: tenantId = null } = query
      const revokedSince = new Date(clock.millis() - revokedShownMs)
      const filters = { orgId: session.orgId, environment, tenantId, revokedSince }
      const rows = await db.rows(listKeys, { ...filters, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, show) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/api-keys',
    gate: 'requireOwnerSession',
    body: CreateKey,
    responses: { 201: NewDashboardKey },
    handle: async (call) => {
      const created = await manage.create(ownerOf(call.session), userActor(call), call.body)
      return { status: 201, body: { ...shownNewKey(created), created_by: created.row.created_by } }
    },
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path: '/api/internal/api-keys/{id}',
    gate: 'requireOwnerSession',
    params: { id: 'key' },
    body: PatchKey,
    responses: { 200: DashboardKey },
    handle: async (call) => {
      const id = call.params.id as string
      return { status: 200, body: show(await manage.patch(ownerOf(call.session), userActor(call), id, call.body)) }
    },
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path: '/api/internal/api-keys',
    gate: 'requireOwnerSession',
    query: ById,
    responses: { 200: RevokedKey },
    handle: async (call) => {
      const { id, revokedAt } = await manage.revoke(ownerOf(call.session), userActor(call), call.query.id)
      return { status: 200, body: { id, revoked_at: revokedAt.toISOString() } }
    },
  }),
]
