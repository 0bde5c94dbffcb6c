import { lockWithinPlan } from '../../customers/usage/within-plan.ts'
import type { Actor, Audit } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { newId } from '../../platform/ground/ids.ts'
import { assertMayChange } from '../../platform/ground/own-rows.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { slugOf, withFreeSlug } from '../../platform/ground/slug.ts'
import { assertMayRead, holdTenant } from './access.ts'
import type { CreateAudience } from './shapes.ts'
import {
  type AudienceRow,
  countAudiences,
  deleteAudience,
  findAudience,
  insertAudience,
  listAudiences,
  listTenantAudiences,
  lockAudience,
} from './store/audience-rows.ts'

const entryOf = ({ orgId }: Scope, actor: Actor, { id, name, slug, tenant_id }: AudienceRow) => ({
  orgId,
  actor,
  resourceType: 'audience',
  resourceId: id,
  metadata: { name, slug, tenant_id },
})

export const makeManageAudiences = ({ db, clock, audit }: { db: Db; clock: Clock; audit: Audit }) => {
  const insert = (tx: Tx, scope: Scope, { name, slug: given }: CreateAudience): Promise<AudienceRow> => {
    const { orgId, tenantId, environment } = scope
    const at = clock.now()
    const id = newId('audience', at.getTime())
    return withFreeSlug({ given, derived: slugOf(name, 'audience'), taken: 'AUDIENCE_SLUG_TAKEN' }, (slug) =>
      tx.row(insertAudience, { orgId, id, tenantId, environment, name, slug, at }),
    )
  }

  return {
    create: (scope: Scope, actor: Actor, body: CreateAudience) =>
      db.tx(async (tx) => {
        const { orgId } = scope
        await holdTenant(tx, orgId, scope.tenantId)
        await lockWithinPlan(tx, orgId, 'audiences', countAudiences)
        const row = await insert(tx, scope, body)
        await audit(tx, { ...entryOf(scope, actor, row), action: 'audience.created' })
        return row
      }),

    /** One row more than the page has, if there are more. */
    list: ({ orgId, tenantId }: Pick<Scope, 'orgId' | 'tenantId'>, page: PageAsked) => {
      const given = { orgId, ...keysetOf(page) }
      return tenantId === null ? db.rows(listAudiences, given) : db.rows(listTenantAudiences, { ...given, tenantId })
    },

    get: async (scope: Scope, id: string) =>
      assertMayRead(scope, await db.row(findAudience, { orgId: scope.orgId, id })),

    /** Its contacts stay. */
    remove: (scope: Scope, actor: Actor, id: string) =>
      db.tx(async (tx) => {
        const { orgId } = scope
        const row = assertMayChange(scope, await tx.row(lockAudience, { orgId, id }))
        await tx.change(deleteAudience, { orgId, id })
        await audit(tx, { ...entryOf(scope, actor, row), action: 'audience.removed' })
      }),
  }
}

export type ManageAudiences = ReturnType<typeof makeManageAudiences>
