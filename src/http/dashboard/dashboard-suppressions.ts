/** /api/internal/suppressions */

import { z } from 'zod'
import { givenId } from '../../ground/bounded-text.ts'
import { channels } from '../../ground/channel.ts'
import { encodeCursor } from '../../ground/cursor.ts'
import { refusing } from '../../ground/refused-fields.ts'
import type { AddSuppressions } from '../../suppressions/add.ts'
import type { FindSuppressions } from '../../suppressions/find-suppressions.ts'
import { isProtected, type RemoveSuppression } from '../../suppressions/remove.ts'
import { reasons, Suppression, SuppressionTarget } from '../../suppressions/shapes.ts'
import type { SuppressionRow } from '../../suppressions/store.ts'
import { Deleted } from '../deleted.ts'
import { shownSuppression } from '../shown-suppression.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { optionalFilter, searchFilter, tenantFilter } from './filters.ts'
import { listOf, listQuery } from './list-query.ts'
import { scopeOf } from './member-scope.ts'
import { idQuery } from './one-or-list.ts'
import type { TenantScope } from './tenant-scope.ts'

const path = '/api/internal/suppressions'

const ListQuery = refusing(
  listQuery().extend({
    channel: optionalFilter(z.enum(channels)),
    reason: optionalFilter(z.enum(reasons)),
    q: searchFilter,
    tenant_id: tenantFilter,
  }),
  { value: 'Search with q.' },
)

/** `removable`: whether a member can remove it. */
const ShownSuppression = Suppression.extend({ removable: z.boolean() })

const show = (row: SuppressionRow): z.output<typeof ShownSuppression> => ({
  ...shownSuppression(row),
  removable: !isProtected(row),
})

type Needs = { add: AddSuppressions; remove: RemoveSuppression; find: FindSuppressions; tenantScope: TenantScope }

export const dashboardSuppressionRoutes = ({ add, remove, find, tenantScope }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: ListQuery,
    responses: { 200: listOf(ShownSuppression) },
    handle: async ({ session, query: { tenant_id: tenantId, ...query } }) => {
      const { rows, next } = await find(session.orgId, { tenantId, ...query })
      const body = { data: rows.map(show), has_more: next !== null, next_cursor: next && encodeCursor(next) }
      return { status: 200, body }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireDeveloperSession',
    body: z.intersection(
      SuppressionTarget,
      refusing(z.object({ tenant_id: givenId.nullish() }), { items: 'Add one suppression at a time.' }),
    ),
    responses: { 200: ShownSuppression, 201: ShownSuppression },
    handle: async (call) => {
      const { tenant_id: tenantId, ...target } = call.body
      const scope = await tenantScope(call.session, tenantId)
      const added = await add(scope, userActor(call), [target])
      const [{ row, created }] = added as [(typeof added)[0]]
      return { status: created ? 201 : 200, body: show(row) }
    },
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => {
      const { id } = await remove(scopeOf(call.session), userActor(call), { id: call.query.id })
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]
