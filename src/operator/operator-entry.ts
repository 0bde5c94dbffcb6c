import { insertEntries } from '../audit/store.ts'
import type { Tx } from '../db/pool.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'

/**
 * The operator's own entry, unsigned by design: whoever runs this has the database in hand, and a signature would
 * claim more than it can prove. Like any entry it never stands in the way of what it tells of.
 */
export const writeOperatorEntry = async (
  tx: Tx,
  log: Log,
  orgId: string,
  action: 'org.suspended' | 'org.unsuspended',
  metadata: Record<string, string>,
  at: Date,
): Promise<void> => {
  const id = newId('auditEntry', at.getTime())
  const said = JSON.stringify(metadata)
  const nothing = [null]
  try {
    await tx.savepoint(() =>
      tx.change(insertEntries, {
        orgIds: [orgId],
        ids: [id],
        actors: nothing,
        actions: [action],
        resourceTypes: ['org'],
        resourceIds: [orgId],
        metadata: [said],
        ips: nothing,
        userAgents: ['operator-tool'],
        at: [at],
        signatures: nothing,
      }),
    )
  } catch (error) {
    const entry = { id, orgId, action, resourceType: 'org', resourceId: orgId, metadata, createdAt: at }
    log.error({ err: error, audit_entries: [entry] }, 'audit entries could not be written')
  }
}
