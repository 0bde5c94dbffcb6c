import type { Audit, AuditEntry } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Log } from '../../platform/ground/log.ts'

type PersonalEntry = Omit<AuditEntry, 'orgId' | 'resourceType' | 'resourceId'> & { userId: string }

/**
 * Records what a user does to their own account. The entry is filed under one of their orgs. For a user without an org
 * the facts go to the operational log.
 */
export type RecordPersonal = (tx: Tx, orgId: string | null, entry: PersonalEntry) => Promise<void>

export const makeRecordPersonal =
  ({ audit, log }: { audit: Audit; log: Log }): RecordPersonal =>
  async (tx, orgId, { userId, ...entry }) => {
    if (orgId === null) {
      tx.afterCommit(() => log.info({ action: entry.action, user_id: userId }, 'action of a user without an org'))
      return
    }
    await audit(tx, { ...entry, orgId, resourceType: 'user', resourceId: userId })
  }
