import type { Actor, AuditedNeeds } from '../../journal/audit/append.ts'
import { uniqueViolation } from '../../platform/db/faults.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { slugOf, withFreeSlug } from '../../platform/ground/slug.ts'
import { lockOrg } from '../orgs/store.ts'
import { lockWithinPlan } from '../usage/within-plan.ts'
import { type CreateTenant, foldedRef } from './shapes.ts'
import { countTenants, findTenantByRef, insertTenant, type TenantRow } from './store.ts'

type NewTenant = { name: string; slug: string | undefined; externalRef: string | null }

export const makeCreateTenants = ({ db, clock, audit }: AuditedNeeds) => {
  const insert = (tx: Tx, { orgId, environment }: Scope, tenant: NewTenant): Promise<TenantRow> => {
    const at = clock.now()
    const id = newId('tenant', at.getTime())
    const { name, slug: given, externalRef } = tenant
    return withFreeSlug({ given, derived: slugOf(name, 'tenant'), taken: 'TENANT_SLUG_CONFLICT' }, (slug) =>
      tx.row(insertTenant, { orgId, id, slug, name, externalRef, environment, at }),
    )
  }

  const insertAndRecord = async (tx: Tx, scope: Scope, actor: Actor, tenant: NewTenant): Promise<TenantRow> => {
    await lockWithinPlan(tx, scope.orgId, 'tenants', countTenants)
    const row = await insert(tx, scope, tenant)
    const metadata = { name: row.name, slug: row.slug, external_ref: row.external_ref }
    const entry = { orgId: scope.orgId, actor, resourceType: 'tenant', resourceId: row.id }
    await audit(tx, { ...entry, action: 'tenant.created', metadata })
    return row
  }

  return {
    create: async (scope: Scope, actor: Actor, body: CreateTenant) => {
      const tenant = { name: body.name, slug: body.slug, externalRef: body.external_ref ?? null }
      try {
        return await db.tx(async (tx) => {
          await tx.row(lockOrg, { orgId: scope.orgId })
          return insertAndRecord(tx, scope, actor, tenant)
        })
      } catch (error) {
        if (uniqueViolation(error, 'tenants_external_ref')) throw new Failure('TENANT_EXTERNAL_REF_CONFLICT')
        throw error
      }
    },
    /** Returns the tenant with this reference: the one created here, or the one another request created first. */
    createByReference: async (scope: Scope, actor: Actor, ref: string) => {
      try {
        return await db.tx(async (tx) => {
          await tx.row(lockOrg, { orgId: scope.orgId })
          const known = await tx.row(findTenantByRef, { orgId: scope.orgId, ref: foldedRef(ref) })
          if (known) return known
          return insertAndRecord(tx, scope, actor, { name: ref, slug: undefined, externalRef: foldedRef(ref) })
        })
      } catch (error) {
        // An update gave the reference to an existing tenant in the meantime. Updates do not lock the org.
        const conflict = uniqueViolation(error, 'tenants_external_ref')
        const existing = conflict
          ? await db.row(findTenantByRef, { orgId: scope.orgId, ref: foldedRef(ref) })
          : undefined
        if (existing) return existing
        throw error
      }
    },
  }
}

export type CreateTenants = ReturnType<typeof makeCreateTenants>
