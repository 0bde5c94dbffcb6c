import { logFailedWrite } from '../audit/log-failed-write.ts'
import { insertEntries } from '../audit/store.ts'
import type { Tx } from '../db/pool.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'

type OperatorEntry = {
  orgId: string
  action: 'org.suspended' | 'org.unsuspended'
  metadata: Record<string, string>
  at: Date
}

/**
 * Writes the audit entry of an operator command. It is deliberately unsigned: the operator has direct access to the
 * database, so a signature would prove nothing. Like every audit entry, it never makes the command itself fail.
 */
export const writeOperatorEntry = async (
  tx: Tx,
  log: Log,
  { orgId, action, metadata, at }: OperatorEntry,
): Promise<void> => {
  const id = newId('auditEntry', at.getTime())
  try {
    await tx.savepoint(() =>
      tx.change(insertEntries, {
        orgIds: [orgId],
        ids: [id],
        actors: [null],
        actions: [action],
        resourceTypes: ['org'],
        resourceIds: [orgId],
        metadata: [JSON.stringify(metadata)],
        ips: [null],
        userAgents: ['operator-tool'],
        at: [at],
        signatures: [null],
      }),
    )
  } catch (error) {
    logFailedWrite(log, error, [{ id, orgId, action, resourceType: 'org', resourceId: orgId }])
  }
}
