import { logFailedWrite } from '../../journal/audit/log-failed-write.ts'
import { makeSealer } from '../../journal/audit/seal-entry.ts'
import { canonicalMetadata } from '../../journal/audit/sign-entry.ts'
import { insertEntries } from '../../journal/audit/store/entry-rows.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'

type OperatorEntry = {
  orgId: string
  action: 'org.suspended' | 'org.unsuspended'
  metadata: Record<string, string>
  at: Date
  secret: string | undefined
}

/**
 * Writes the audit entry of an operator command. It has no signature by definition, but it is sealed, so that nobody
 * without the secret can forge one. Like every audit entry, it never makes the command itself fail.
 */
export const writeOperatorEntry = async (
  tx: Tx,
  log: Log,
  { orgId, action, metadata, at, secret }: OperatorEntry,
): Promise<void> => {
  const sealer = secret === undefined ? undefined : makeSealer(secret)
  const id = sealer ? sealer.newEntryId(at.getTime()) : newId('auditEntry', at.getTime())
  const createdAt = new Date(timeOfId(id))
  const text = canonicalMetadata(metadata)
  const fields = { id, orgId, action, resourceType: 'org', resourceId: orgId, createdAt, ip: null }
  const seal = sealer?.seal({ ...fields, userAgent: 'operator-tool', signed: false }, text) ?? null
  try {
    await tx.savepoint(() =>
      tx.change(insertEntries, {
        orgIds: [orgId],
        ids: [id],
        actors: [null],
        actions: [action],
        resourceTypes: ['org'],
        resourceIds: [orgId],
        metadata: [text],
        ips: [null],
        userAgents: ['operator-tool'],
        at: [createdAt],
        signatures: [null],
        seals: [seal],
      }),
    )
  } catch (error) {
    logFailedWrite(log, error, [{ id, orgId, action, resourceType: 'org', resourceId: orgId }])
  }
}
