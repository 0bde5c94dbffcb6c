/** The transaction of every change of a domain, and who may make it. */
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import type { Scope } from '../ground/scope.ts'
import { type DomainRow, lockDomain } from './store/domain-rows.ts'

/** A tenant's key may change only its own tenant's domains. A test key may not change a live domain. */
export const assertMayChangeDomain = (scope: Scope, row: DomainRow | undefined): DomainRow => {
  if (!row) throw new Failure('NOT_FOUND')
  if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
  if (scope.environment === 'test' && row.created_environment === 'live') {
    throw new Failure('ENVIRONMENT_ESCALATION')
  }
  return row
}

/** Locks the domain, checks that the caller may change it, and runs the work in one transaction. */
export type ChangeDomain = (
  scope: Scope,
  id: string,
  work: (tx: Tx, row: DomainRow, at: Date) => Promise<DomainRow>,
) => Promise<DomainRow>

type Needs = {
  db: Db
  clock: Clock
  /** Drops this process's cached senders of the org immediately. Other processes are notified. */
  forget: (orgId: string) => void
}

export const makeChangeDomain =
  ({ db, clock, forget }: Needs): ChangeDomain =>
  async (scope, id, work) => {
    const after = await db.tx(async (tx) => {
      const row = await tx.row(lockDomain, { orgId: scope.orgId, projectId: scope.projectId, id })
      return work(tx, assertMayChangeDomain(scope, row), clock.now())
    })
    forget(scope.orgId)
    return after
  }
