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
  /** The tenant that holds the reference by now, whoever made it. */
  createByReference(scope: Scope, actor: Actor, ref: string): Promise<{ id: string; status: TenantRow['status'] }>
}

type Needs = { db: Db; clock: Clock; audit: Audit }

type Order = { name: string; slug: string | undefined; externalRef: string | null }

export const makeCreateTenants = ({ db, clock, audit }: Needs): CreateTenants => {
  /** Waits for other creations of the org, so that the count still holds when the row is added. */
  const assertRoom = async (tx: Tx, orgId: string): Promise<void> => {
    const counted = await tx.row(countTenants, { orgId })
    const org = await tx.row(lockOrg, { orgId })
    if (!org || !counted) throw new Failure('NOT_FOUND')
    const limit = resourceLimit.tenants[org.plan]
    if (counted.n >= limit) {
      throw new Failure('PLAN_RESOURCE_LIMIT', { message: `The ${org.plan} plan allows ${limit} tenants.` })
    }
  }

  const insert = async (tx: Tx, { orgId, environment }: Scope, order: Order): Promise<TenantRow> => {
    const at = clock.now()
    const id = newId('tenant', at.getTime())
    const derived = slugOf(order.name, 'tenant')
    // A slug the caller chose is taken or refused; a derived one finds a way.
    for (let tries = 0; tries < 5; tries++) {
      const slug = order.slug ?? (tries === 0 ? derived : suffixed(derived))
      const row = await tx.row(insertTenant, {
        orgId,
        id,
        slug,
        name: order.name,
        externalRef: order.externalRef,
        environment,
        at,
      })
      if (row) return row
      if (order.slug !== undefined) throw new Failure('TENANT_SLUG_CONFLICT')
    }
    throw new Error(`no free slug was found for ${derived}`)
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
      const order = { name: body.name, slug: body.slug, externalRef: body.external_ref ?? null }
      try {
        return await db.tx(async (tx) => {
          await tx.row(lockOrg, { orgId: scope.orgId })
          await assertRoom(tx, scope.orgId)
          const row = await insert(tx, scope, order)
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
          await assertRoom(tx, scope.orgId)
          const row = await insert(tx, scope, { name: ref, slug: undefined, externalRef: foldedRef(ref) })
          await record(tx, scope.orgId, actor, row)
          return row
        })
      } catch (error) {
        // A tenant that is there already was given the reference meanwhile; changing one takes no lock on the org.
        const taken = uniqueViolation(error, 'tenants_external_ref')
        const holder = taken ? await db.row(findTenantByRef, { orgId: scope.orgId, ref: foldedRef(ref) }) : undefined
        if (holder) return holder
        throw error
      }
    },
  }
}
