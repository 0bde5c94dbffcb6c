import type { Tx } from '../db/pool.ts'
import { deleteConnection, setEnforced } from './store/connection-rows.ts'
import { deleteAllEmailDomains } from './store/email-domain-rows.ts'

/** Ends single sign-on of an org that is deleted, in the transaction of the deletion. */
export const endSsoOfOrg = async (tx: Tx, { orgId, at }: { orgId: string; at: Date }): Promise<void> => {
  await tx.row(deleteConnection, { orgId })
  await tx.change(deleteAllEmailDomains, { orgId })
  await tx.change(setEnforced, { orgId, enforced: false, at })
}
