/** Decides which tenant an inbound message belongs to. */
import type { Tx } from '../../platform/db/pool.ts'
import { lockInboundTenant } from './store/inbound-rows.ts'

/**
 * The tenant that a message belongs to: the first of `tenantIds`. One that is erased, or is being erased, gets no new
 * message, and the next one gets it instead. Null is the org itself.
 */
export const tenantOf = async (tx: Tx, orgId: string, tenantIds: (string | null)[]): Promise<string | null> => {
  for (const tenantId of tenantIds) {
    if (tenantId === null || (await tx.row(lockInboundTenant, { orgId, tenantId }))) return tenantId
  }
  return null
}
