/** Who may read contacts and audiences, and add to them. */
import type { Tx } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { lockContactTenant } from './store/contact-rows.ts'

/** A tenant reads only its own rows. Anything else does not exist for it. */
export const assertMayRead = <R extends { tenant_id: string | null }>({ tenantId }: Scope, row: R | undefined): R => {
  if (!row || (tenantId !== null && row.tenant_id !== tenantId)) throw new Failure('NOT_FOUND')
  return row
}

/** A tenant whose erasure has begun gets no new rows. */
export const holdTenant = async (tx: Tx, orgId: string, tenantId: string | null): Promise<void> => {
  if (tenantId === null || (await tx.row(lockContactTenant, { orgId, tenantId }))) return
  throw new Failure('TENANT_ERASED')
}
