/** Who may read and change contacts and audiences. */

import type { Tx } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { assertOwnEnvironment, type Environment, type Scope } from '../../platform/ground/scope.ts'
import { lockContactTenant } from './store/contact-rows.ts'

type Owned = { tenant_id: string | null; created_environment: Environment }

/** A tenant reads only its own rows. Anything else does not exist for it. */
export const assertMayRead = <R extends Owned>({ tenantId }: Scope, row: R | undefined): R => {
  if (!row || (tenantId !== null && row.tenant_id !== tenantId)) throw new Failure('NOT_FOUND')
  return row
}

/** A tenant may change only its own rows. A test key may change only rows that a test key created. */
export const assertMayChange = <R extends Owned>(scope: Scope, row: R | undefined): R => {
  if (!row) throw new Failure('NOT_FOUND')
  if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
  assertOwnEnvironment(scope, row.created_environment)
  return row
}

/** A tenant whose erasure has begun gets no new rows. */
export const holdTenant = async (tx: Tx, orgId: string, tenantId: string | null): Promise<void> => {
  if (tenantId === null || (await tx.row(lockContactTenant, { orgId, tenantId }))) return
  throw new Failure('TENANT_ERASED')
}
