import type { Actor, Audit } from '../audit/append.ts'
import { uniqueViolation } from '../db/faults.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Scope } from '../ground/scope.ts'
import { slugOf, suffixed } from '../ground/slug.ts'
import { lockOrg } from '../orgs/store.ts'
import { resourceLimit } from '../usage/plan-limits.ts'
import { type CreateTenant, foldedRef } from './shapes.ts'
import { countTenants, findTenantByRef, insertTenant, type TenantRow } from './store.ts'

export interface CreateTenants {
  create(scope: Scope, actor: Actor, body: CreateTenant): Promise<TenantRow>
  /** Returns the tenant with this reference: the one created here, or the one another request created first. */
  createByReference(scope: Scope, actor: Actor, ref: string): Promise<{ id: string; status: TenantRow['status'] }>
}

type Needs = { db: Db; clock: Clock; audit: Audit }

type NewTenant = { name: string; slug: string | undefined; externalRef: string | null }

export const makeCreateTenants = ({ db, clock, audit }: Needs): CreateTenants => {
  /** The transaction already has the org lock, so the count is still correct when the row is inserted. */
  const assertBelowLimit = async (tx: Tx, orgId: string): Promise<void> => {
    const counted = await tx.row(countTenants, { orgId })
    const org = await tx.row(lockOrg, { orgId })
    if (!org || !counted) throw new Failure('NOT_FOUND')
    const limit = resourceLimit.tenants[org.plan]
    if (counted.n >= limit) {
      throw new Failure('PLAN_RESOURCE_LIMIT', { message: `The ${org.plan} plan allows ${limit} tenants.` })
    }
  }

  const insert = async (tx: Tx, { orgId, environment }: Scope, tenant: NewTenant): Promise<TenantRow> => {
    const at = clock.now()
    const id = newId('tenant', at.getTime())
    const derived = slugOf(tenant.name, 'tenant')
    // A conflict on a slug from the request is an error. A derived slug gets a random suffix and is tried again.
    for (let tries = 0; tries < 5; tries++) {
      const slug = tenant.slug ?? (tries === 0 ? derived : suffixed(derived))
      const row = await tx.row(insertTenant, {
        orgId,
        id,
        slug,
        name: tenant.name,
        externalRef: tenant.externalRef,
        environment,
        at,
      })
      if (row) return row
      if (tenant.slug !== undefined) throw new Failure('TENANT_SLUG_CONFLICT')
    }
    throw new Error(`No free slug found for ${derived}`)
  }

  const record = (tx: Tx, orgId: string, actor: Actor, row: TenantRow): Promise<void> =>
    audit(tx, {
      orgId,
      actor,
      action: 'tenant.created',
      resourceType: 'tenant',
      resourceId: row.id,
      metadata: { name: row.name, slug: row.slug, external_ref: row.external_ref },
    })

  return {
    create: async (scope, actor, body) => {
      const tenant = { name: body.name, slug: body.slug, externalRef: body.external_ref ?? null }
      try {
        return await db.tx(async (tx) => {
          await tx.row(lockOrg, { orgId: scope.orgId })
          await assertBelowLimit(tx, scope.orgId)
          const row = await insert(tx, scope, tenant)
          await record(tx, scope.orgId, actor, row)
          return row
        })
      } catch (error) {
        if (uniqueViolation(error, 'tenants_external_ref')) throw new Failure('TENANT_EXTERNAL_REF_CONFLICT')
        throw error
      }
    },
    createByReference: async (scope, actor, ref) => {
      try {
        return await db.tx(async (tx) => {
          await tx.row(lockOrg, { orgId: scope.orgId })
          const known = await tx.row(findTenantByRef, { orgId: scope.orgId, ref: foldedRef(ref) })
          if (known) return known
          await assertBelowLimit(tx, scope.orgId)
          const row = await insert(tx, scope, { name: ref, slug: undefined, externalRef: foldedRef(ref) })
          await record(tx, scope.orgId, actor, row)
          return row
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
