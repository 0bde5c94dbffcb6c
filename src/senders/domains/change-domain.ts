/** Changes of a domain: the transaction of each, who may make it, and moves to another region or tenant. */
import type { Actor, Audit } from '../../journal/audit/append.ts'
import { entryAbout } from '../../journal/audit/entry-about.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { assertMayChange } from '../../platform/ground/own-rows.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import type { KeepIdentities } from './identities.ts'
import type { Region } from './region.ts'
import {
  bindDomain,
  type DomainRow,
  findDomain,
  lockDomain,
  moveDomain,
  recordIdentity,
  shareLockTenant,
} from './store/domain-rows.ts'

type Work = (tx: Tx, row: DomainRow, at: Date) => Promise<DomainRow>

type ChangeNeeds = {
  db: Db
  clock: Clock
  /** Drops this process's cached senders of the org immediately. Other processes are notified. */
  forget: (orgId: string) => void
}

/** Locks the domain, checks that the caller may change it, and runs the work in one transaction. */
export const makeChangeDomain =
  ({ db, clock, forget }: ChangeNeeds) =>
  async (scope: Scope, id: string, work: Work): Promise<DomainRow> => {
    const after = await db.tx(async (tx) => {
      const row = await tx.row(lockDomain, { orgId: scope.orgId, projectId: scope.projectId, id })
      return work(tx, assertMayChange(scope, row), clock.now())
    })
    forget(scope.orgId)
    return after
  }

type MoveNeeds = {
  db: Db
  audit: Audit
  change: ReturnType<typeof makeChangeDomain>
  /** Undefined when no provider needs to know the domains. */
  identities: KeepIdentities | undefined
}

const notUsable = 'The tenant is suspended or archived. Reactivate it or choose another one.'

export const makeMoveDomain = ({ db, audit, change, identities }: MoveNeeds) => {
  return {
    /**
     * The domain must be verified again, since the records for bounces and inbound mail name the region. It keeps its
     * DKIM key. It leaves its IP pool, which belongs to the former region.
     */
    toRegion: async (scope: Scope, actor: Actor, id: string, region: Region) => {
      const { orgId, projectId } = scope
      const before = assertMayChange(scope, await db.row(findDomain, { orgId, projectId, id }))
      if (before.region === region) return before
      // A test-mode domain never reaches a provider.
      const isKnown = before.created_environment === 'live' && identities !== undefined
      const prepared = isKnown ? await identities.prepare(before, region) : undefined
      let left: DomainRow | undefined
      try {
        const moved = await change(scope, id, async (tx, row, at) => {
          if (row.region === region) {
            // Another request has moved it there in the meantime. It found the identity that this one created.
            if (prepared?.origin === 'created') await tx.change(recordIdentity, { orgId, id, identity: 'created' })
            return row
          }
          left = row
          const identity = prepared?.origin ?? null
          const after = (await tx.row(moveDomain, { orgId, id, region, identity, at })) as DomainRow
          await identities?.inherit(tx, row)
          const metadata = { old: row.region, new: region }
          await audit(tx, { ...entryAbout(orgId, actor, 'domain', id), action: 'domain.region_updated', metadata })
          return after
        })
        if (left) await identities?.release(left)
        return moved
      } catch (error) {
        if (prepared) await identities?.undo(prepared.identity, prepared.origin)
        throw error
      }
    },

    /** A null tenant opens the domain to all tenants of the org. */
    toTenant: (scope: Scope, actor: Actor, id: string, tenantId: string | null) =>
      change(scope, id, async (tx, row, at) => {
        const { orgId } = scope
        if (row.tenant_id === tenantId) return row
        if (tenantId !== null) {
          const tenant = await tx.row(shareLockTenant, { orgId, id: tenantId })
          if (!tenant) throw invalid(['tenant_id'], 'custom', 'There is no such tenant.')
          if (tenant.status !== 'active') throw new Failure('TENANT_NOT_USABLE', { message: notUsable })
        }
        const after = (await tx.row(bindDomain, { orgId, id, tenantId, at })) as DomainRow
        const metadata = { old: row.tenant_id, new: tenantId }
        await audit(tx, { ...entryAbout(orgId, actor, 'domain', id), action: 'domain.tenant_rebound', metadata })
        return after
      }),
  }
}
