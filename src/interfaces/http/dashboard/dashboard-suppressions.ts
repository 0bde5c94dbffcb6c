/** /api/internal/suppressions */
import { z } from 'zod'
import { givenId } from '../../../platform/ground/bounded-text.ts'
import { channels } from '../../../platform/ground/channel.ts'
import { refusing } from '../../../platform/ground/refused-fields.ts'
import type { AddSuppressions } from '../../../recipients/suppressions/add.ts'
import type { FindSuppressions } from '../../../recipients/suppressions/find-suppressions.ts'
import { isProtected, type RemoveSuppression } from '../../../recipients/suppressions/remove.ts'
import { reasons, Suppression, SuppressionTarget } from '../../../recipients/suppressions/shapes.ts'
import type { SuppressionRow } from '../../../recipients/suppressions/store.ts'
import { scopeOf, userActor } from '../actor.ts'
import { listedFound } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { suppressions } from '../shown-resources.ts'
import { listOf, listQuery, optionalFilter, searchFilter, tenantFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'
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
  ...suppressions.show(row),
  removable: !isProtected(row),
})

const routes = memberRoutes(
  { ...suppressions, item: ShownSuppression, show },
  { path, write: 'requireDeveloperSession' },
)

type Needs = { add: AddSuppressions; remove: RemoveSuppression; find: FindSuppressions; tenantScope: TenantScope }

export const dashboardSuppressionRoutes = ({ add, remove, find, tenantScope }: Needs): DashboardRoute[] => [
  defineRoute('GET', path, bySession('requireSession'), {
    query: ListQuery,
    responses: { 200: listOf(ShownSuppression) },
    handle: async ({ session, query: { tenant_id: tenantId, ...query } }) =>
      listedFound(await find(session.orgId, { tenantId, ...query }), show),
  }),
  defineRoute('POST', path, bySession('requireDeveloperSession'), {
    body: z.intersection(
      SuppressionTarget,
      refusing(z.object({ tenant_id: givenId.nullish() }), { items: 'Add one suppression at a time.' }),
    ),
    responses: { 200: ShownSuppression, 201: ShownSuppression },
    handle: async (call) => {
      const { tenant_id: tenantId, ...target } = call.body
      const scope = await tenantScope(scopeOf(call.session), tenantId)
      const added = await add(scope, userActor(call), [target])
      const [{ row, created }] = added as [(typeof added)[0]]
      return { status: created ? 201 : 200, body: show(row) }
    },
  }),
  routes.remove({ action: (scope, actor, id) => remove(scope, actor, { id }) }),
]
