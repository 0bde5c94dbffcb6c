/**
 * Moves tenants between their states and updates them. A state change is one conditional update, and only the call
 * that changed the row writes an audit entry.
 */
import type { Action } from '../../journal/audit/actions.ts'
import type { Actor, AuditedNeeds } from '../../journal/audit/append.ts'
import { uniqueViolation } from '../../platform/db/faults.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Statement } from '../../platform/db/statement.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { type Code, Failure } from '../../platform/ground/errors.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { assertOwnEnvironment, type Scope } from '../../platform/ground/scope.ts'
import { pageOfSearch } from '../../platform/ground/search-page.ts'
import type { PatchQuota, PatchTenant } from './shapes.ts'
import {
  archiveTenant,
  findTenant,
  listTenants,
  lockTenant,
  restoreTenant,
  searchTenants,
  setQuota,
  suspendTenant,
  type TenantRow,
  type TenantStatus,
  unsuspendTenant,
  updateTenant,
} from './store.ts'

/**
 * Cancels the tenant's scheduled messages in the transaction that suspends or archives it. Returns how many were
 * canceled.
 */
type CancelScheduled = (tx: Tx, work: { orgId: string; tenantId: string; reason: string }) => Promise<number>

/** How many tenants one request searches. */
const searchWindow = 10_000

type TenantFilters = { externalRef: string | null; status: TenantStatus | null }

type Transition = {
  statement: Statement<{ orgId: string; id: string; at: Date }, TenantRow>
  action: Action
  /** The error when the tenant is in another state. */
  otherwise: Code
  /** The error when the tenant is erased or its erasure has begun. */
  whenErased: Code
  /** Set when scheduled messages are canceled: the reason recorded on them. */
  cancelReason?: string
}

const transitions: Record<'suspend' | 'unsuspend' | 'archive' | 'restore', Transition> = {
  suspend: {
    statement: suspendTenant,
    action: 'tenant.suspended',
    otherwise: 'TENANT_NOT_ACTIVE',
    whenErased: 'TENANT_NOT_ACTIVE',
    cancelReason: 'Tenant suspended',
  },
  unsuspend: {
    statement: unsuspendTenant,
    action: 'tenant.unsuspended',
    otherwise: 'TENANT_NOT_SUSPENDED',
    whenErased: 'TENANT_ERASED',
  },
  archive: {
    statement: archiveTenant,
    action: 'tenant.archived',
    otherwise: 'TENANT_NOT_ACTIVE',
    whenErased: 'TENANT_NOT_ACTIVE',
    cancelReason: 'Tenant archived',
  },
  restore: {
    statement: restoreTenant,
    action: 'tenant.restored',
    otherwise: 'TENANT_NOT_ARCHIVED',
    whenErased: 'TENANT_ERASED',
  },
}

const isErased = (row: TenantRow): boolean => row.status === 'erased' || row.erasure !== null

type Needs = AuditedNeeds & { cancelScheduled: CancelScheduled[]; forget: (orgId: string) => void }

export const makeTenantLifecycle = ({ db, clock, audit, cancelScheduled, forget }: Needs) => {
  const entry = (row: TenantRow, actor: Actor, action: Action, metadata?: Record<string, unknown>) => ({
    orgId: row.org_id,
    actor,
    action,
    resourceType: 'tenant',
    resourceId: row.id,
    ...(metadata && { metadata }),
  })

  const cancelAll = async (tx: Tx, row: TenantRow, reason: string): Promise<number> => {
    let canceled = 0
    for (const cancel of cancelScheduled) canceled += await cancel(tx, { orgId: row.org_id, tenantId: row.id, reason })
    return canceled
  }

  const move = async (name: keyof typeof transitions, scope: Scope, actor: Actor, id: string): Promise<TenantRow> => {
    const { statement, action, otherwise, whenErased, cancelReason } = transitions[name]
    const row = await db.tx(async (tx) => {
      const moved = await tx.row(statement, { orgId: scope.orgId, id, at: clock.now() })
      if (!moved) {
        const found = await tx.row(findTenant, { orgId: scope.orgId, id })
        throw new Failure(!found ? 'NOT_FOUND' : isErased(found) ? whenErased : otherwise)
      }
      const metadata = cancelReason ? { canceled_messages: await cancelAll(tx, moved, cancelReason) } : undefined
      await audit(tx, entry(moved, actor, action, metadata))
      return moved
    })
    forget(scope.orgId)
    return row
  }

  type Work = (tx: Tx, before: TenantRow) => Promise<TenantRow>

  const change = async (scope: Scope, id: string, work: Work): Promise<TenantRow> => {
    const { orgId } = scope
    const row = await db.tx(async (tx) => {
      const before = await orNotFound(tx.row(lockTenant, { orgId, id }))
      if (isErased(before)) throw new Failure('TENANT_ERASED')
      // A test key can change only tenants that a test key created.
      assertOwnEnvironment(scope, before.created_environment)
      return work(tx, before)
    })
    forget(orgId)
    return row
  }

  return {
    /** In the scope of one tenant, only that one. */
    list: ({ orgId, tenantId }: Pick<Scope, 'orgId' | 'tenantId'>, filters: TenantFilters, page: PageAsked) =>
      db.rows(listTenants, { orgId, id: tenantId, ...filters, ...keysetOf(page) }),

    /** Tenants with a text in their name, slug, reference or id. */
    search: async (orgId: string, q: string, page: PageAsked) =>
      pageOfSearch(await db.rows(searchTenants, { orgId, q, window: searchWindow, ...keysetOf(page) }), page.limit),

    /** In the scope of one tenant, other tenants of the org are forbidden. Tenants of other orgs are not found. */
    get: async (scope: Scope, id: string) => {
      const row = await orNotFound(db.row(findTenant, { orgId: scope.orgId, id }))
      if (scope.tenantId !== null && scope.tenantId !== id) throw new Failure('TENANT_FORBIDDEN')
      return row
    },
    suspend: (scope: Scope, actor: Actor, id: string) => move('suspend', scope, actor, id),
    unsuspend: (scope: Scope, actor: Actor, id: string) => move('unsuspend', scope, actor, id),
    archive: (scope: Scope, actor: Actor, id: string) => move('archive', scope, actor, id),
    restore: (scope: Scope, actor: Actor, id: string) => move('restore', scope, actor, id),

    patch: async (scope: Scope, actor: Actor, id: string, body: PatchTenant) => {
      try {
        return await change(scope, id, async (tx, before) => {
          if (body.name === undefined && body.external_ref === undefined) return before
          const ref = body.external_ref === undefined ? before.external_ref : body.external_ref
          const name = body.name ?? before.name
          const after = await orNotFound(
            tx.row(updateTenant, { orgId: scope.orgId, id, name, externalRef: ref, at: clock.now() }),
          )
          const shown = (r: TenantRow) => ({ name: r.name, external_ref: r.external_ref })
          await audit(tx, entry(after, actor, 'tenant.updated', { old: shown(before), new: shown(after) }))
          return after
        })
      } catch (error) {
        if (uniqueViolation(error, 'tenants_external_ref')) throw new Failure('TENANT_EXTERNAL_REF_CONFLICT')
        throw error
      }
    },

    patchQuota: (scope: Scope, actor: Actor, id: string, body: PatchQuota) =>
      change(scope, id, async (tx, before) => {
        const email = body.email_monthly === undefined ? before.email_monthly : body.email_monthly
        const sms = body.sms_monthly === undefined ? before.sms_monthly : body.sms_monthly
        const after = await orNotFound(tx.row(setQuota, { orgId: scope.orgId, id, email, sms, at: clock.now() }))
        const quota = (r: TenantRow) => ({ email_monthly: r.email_monthly, sms_monthly: r.sms_monthly })
        await audit(tx, entry(after, actor, 'tenant.quota_updated', { old: quota(before), new: quota(after) }))
        return after
      }),
  }
}

export type TenantLifecycle = ReturnType<typeof makeTenantLifecycle>
