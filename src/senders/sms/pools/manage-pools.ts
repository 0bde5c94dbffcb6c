/** Messaging pools: senders that share the recipients of an org or of one of its tenants. */
import { lockOrg } from '../../../customers/orgs/store.ts'
import { lockWithinPlan } from '../../../customers/usage/within-plan.ts'
import type { Actor, Audit } from '../../../journal/audit/append.ts'
import type { Db, Tx } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { keysetOf, type PageAsked } from '../../../platform/ground/cursor.ts'
import { Failure, invalid } from '../../../platform/ground/errors.ts'
import { newId } from '../../../platform/ground/ids.ts'
import { assertMayChange, assertOwnTenant } from '../../../platform/ground/own-rows.ts'
import type { Scope } from '../../../platform/ground/scope.ts'
import {
  countPools,
  deletePool,
  deletePoolRecipients,
  findPool,
  insertPool,
  listOrgPools,
  listPools,
  lockPool,
  lockPoolTenant,
  type PoolRow,
  updatePool,
} from '../store/pool-rows.ts'
import { changeMembers, type PoolCaller } from './change-members.ts'
import type { CreatePool, PatchPool } from './pool-shapes.ts'

type Of = Pick<Scope, 'orgId' | 'tenantId'>

const tenantFor = (caller: PoolCaller, { tenant_id: given }: CreatePool): string | null => {
  const tenantId = given === undefined ? caller.tenantId : given
  assertOwnTenant(caller, tenantId)
  return tenantId
}

type Needs = {
  db: Db
  clock: Clock
  audit: Audit
  /** Drops this process's cached pools of the org immediately. Other processes are notified. */
  forget: (orgId: string) => void
}

const entryOf = ({ orgId }: PoolCaller, actor: Actor, row: PoolRow) => {
  const { id, slug, name, tenant_id, phone_number_ids } = row
  return { orgId, actor, resourceType: 'pool', resourceId: id, metadata: { slug, name, tenant_id, phone_number_ids } }
}

export const makeManagePools = ({ db, clock, audit, forget }: Needs) => {
  const lockOwn = async (tx: Tx, caller: PoolCaller, id: string): Promise<PoolRow> => {
    // Every change locks the org before the pool and its members, so that two of them cannot deadlock.
    await tx.row(lockOrg, { orgId: caller.orgId })
    return assertMayChange(caller, await tx.row(lockPool, { orgId: caller.orgId, id }))
  }

  const change = async <T>({ orgId }: PoolCaller, work: (tx: Tx) => Promise<T>): Promise<T> => {
    const result = await db.tx(work)
    forget(orgId)
    return result
  }

  return {
    create: (caller: PoolCaller, actor: Actor, body: CreatePool) =>
      change(caller, async (tx) => {
        const { orgId, environment } = caller
        const { slug, name, phone_number_ids: after } = body
        const tenantId = tenantFor(caller, body)
        if (tenantId !== null && !(await tx.row(lockPoolTenant, { orgId, tenantId }))) {
          throw invalid(['tenant_id'], 'custom', 'This tenant does not exist.')
        }
        await lockWithinPlan(tx, orgId, 'messaging pools', countPools)
        const at = clock.now()
        const id = newId('pool', at.getTime())
        const inserted = await tx.row(insertPool, { orgId, id, tenantId, slug, name, environment, at })
        if (!inserted) throw new Failure('POOL_SLUG_TAKEN')
        await changeMembers(tx, caller, { poolId: id, tenantId, before: [], after, at })
        const row = (await tx.row(findPool, { orgId, id })) as PoolRow
        await audit(tx, { ...entryOf(caller, actor, row), action: 'pool.created' })
        return row
      }),

    /** The pools that a tenant can use, its own and the org's. Without a tenant, those of the whole org. */
    list: ({ orgId, tenantId }: Of, page: PageAsked) => db.rows(listPools, { orgId, tenantId, ...keysetOf(page) }),

    /** The pools that belong to the tenant itself. Without a tenant, those of the whole org. */
    listOwn: ({ orgId, tenantId }: Of, page: PageAsked) =>
      db.rows(listOrgPools, { orgId, tenantId, ...keysetOf(page) }),

    get: async ({ orgId, tenantId }: Scope, id: string) => {
      const row = await db.row(findPool, { orgId, id })
      const visible = row && (tenantId === null || row.tenant_id === null || row.tenant_id === tenantId)
      if (!visible) throw new Failure('NOT_FOUND')
      return row
    },

    patch: (caller: PoolCaller, actor: Actor, id: string, body: PatchPool) =>
      change(caller, async (tx) => {
        const { orgId } = caller
        const { name = null, phone_number_ids: after } = body
        const { tenant_id: tenantId, phone_number_ids: before } = await lockOwn(tx, caller, id)
        if (name === null && after === undefined) throw new Failure('NO_FIELDS')
        const at = clock.now()
        if (after !== undefined) await changeMembers(tx, caller, { poolId: id, tenantId, before, after, at })
        await tx.change(updatePool, { orgId, id, name, at })
        const row = (await tx.row(findPool, { orgId, id })) as PoolRow
        await audit(tx, { ...entryOf(caller, actor, row), action: 'pool.updated' })
        return row
      }),

    remove: (caller: PoolCaller, actor: Actor, id: string) =>
      change(caller, async (tx) => {
        const { orgId } = caller
        const row = await lockOwn(tx, caller, id)
        const { tenant_id: tenantId, phone_number_ids: before } = row
        await tx.change(deletePoolRecipients, { orgId, id })
        await changeMembers(tx, caller, { poolId: id, tenantId, before, after: [], at: clock.now() })
        await tx.change(deletePool, { orgId, id })
        await audit(tx, { ...entryOf(caller, actor, row), action: 'pool.removed' })
      }),
  }
}

export type ManagePools = ReturnType<typeof makeManagePools>
