import type { Actor, Audit } from '../audit/append.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Scope } from '../ground/scope.ts'
import { slugOf, suffixed } from '../ground/slug.ts'
import { lockOrg } from '../orgs/store.ts'
import { resourceLimit } from '../usage/plan-limits.ts'
import { assertMayChange, assertMayRead, holdTenant } from './access.ts'
import type { CreateAudience } from './shapes.ts'
import {
  type AudienceRow,
  countAudiences,
  deleteAudience,
  findAudience,
  insertAudience,
  lockAudience,
} from './store/audience-rows.ts'

export interface ManageAudiences {
  create(scope: Scope, actor: Actor, body: CreateAudience): Promise<AudienceRow>
  get(scope: Scope, id: string): Promise<AudienceRow>
  /** Its contacts stay. */
  remove(scope: Scope, actor: Actor, id: string): Promise<void>
}

/** Locks the org, so that concurrent requests cannot exceed the limit together. */
const assertWithinPlan = async (tx: Tx, orgId: string): Promise<void> => {
  const org = await tx.row(lockOrg, { orgId })
  const counted = await tx.row(countAudiences, { orgId })
  if (!org || !counted) throw new Failure('NOT_FOUND')
  const limit = resourceLimit.audiences[org.plan]
  if (counted.n < limit) return
  throw new Failure('PLAN_RESOURCE_LIMIT', { message: `The ${org.plan} plan allows ${limit} audiences.` })
}

type Needs = { db: Db; clock: Clock; audit: Audit }

export const makeManageAudiences = ({ db, clock, audit }: Needs): ManageAudiences => {
  const insert = async (tx: Tx, scope: Scope, { name, slug: given }: CreateAudience): Promise<AudienceRow> => {
    const { orgId, tenantId, environment } = scope
    const at = clock.now()
    const id = newId('audience', at.getTime())
    const derived = slugOf(name, 'audience')
    // A conflict on a slug from the request is an error. A derived slug gets a random suffix and is tried again.
    for (let tries = 0; tries < 5; tries++) {
      const slug = given ?? (tries === 0 ? derived : suffixed(derived))
      const row = await tx.row(insertAudience, { orgId, id, tenantId, environment, name, slug, at })
      if (row) return row
      if (given !== undefined) throw new Failure('AUDIENCE_SLUG_TAKEN')
    }
    throw new Error(`No free slug found for ${derived}`)
  }

  const record = (
    tx: Tx,
    orgId: string,
    actor: Actor,
    action: 'audience.created' | 'audience.removed',
    row: AudienceRow,
  ) =>
    audit(tx, {
      orgId,
      actor,
      action,
      resourceType: 'audience',
      resourceId: row.id,
      metadata: { name: row.name, slug: row.slug, tenant_id: row.tenant_id },
    })

  return {
    create: (scope, actor, body) =>
      db.tx(async (tx) => {
        const { orgId } = scope
        await holdTenant(tx, orgId, scope.tenantId)
        await assertWithinPlan(tx, orgId)
        const row = await insert(tx, scope, body)
        await record(tx, orgId, actor, 'audience.created', row)
        return row
      }),

    get: async (scope, id) => assertMayRead(scope, await db.row(findAudience, { orgId: scope.orgId, id })),

    remove: (scope, actor, id) =>
      db.tx(async (tx) => {
        const { orgId } = scope
        const row = assertMayChange(scope, await tx.row(lockAudience, { orgId, id }))
        await tx.change(deleteAudience, { orgId, id })
        await record(tx, orgId, actor, 'audience.removed', row)
      }),
  }
}
