/** Verifies the signatures of a page of an org's entries. Every run is itself an entry of the log. */
import type { Db } from '../../platform/db/pool.ts'
import { isoOrNull } from '../../platform/ground/instant.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Actor, Audit } from './append.ts'
import { type AuditSecrets, bestStatus } from './judge-entry.ts'
import { shownResourceId, shownTime } from './shown-entry.ts'
import type { SignatureStatus } from './signature-status.ts'
import type { EntryRow } from './store/entry-rows.ts'
import { type EntryRange, listSignedEntries } from './store/list-rows.ts'

const maxIds = 20

const foundEntry = (row: EntryRow) => ({
  id: row.id,
  action: row.action,
  actorUserId: row.actor_user_id,
  resourceType: row.resource_type,
  resourceId: shownResourceId(row),
  createdAt: shownTime(row.created_at),
})

type Needs = { db: Db; log: Log; audit: Audit; secrets: AuditSecrets; cutover: { text: string; at: Date } }

export type VerifyEntries = ReturnType<typeof makeVerifyEntries>

export const makeVerifyEntries = ({ db, log, audit, secrets, cutover }: Needs) => {
  const statusOfEntry = (row: EntryRow): SignatureStatus => {
    try {
      return bestStatus(row, { secrets, cutover: cutover.at })
    } catch {
      // Values that the service never writes, such as metadata that is nested too deeply to be signed.
      return 'invalid'
    }
  }

  const judgeAll = (rows: EntryRow[]) => {
    const { ok = [], unsigned = [], legacy = [], invalid = [], stripped = [] } = Object.groupBy(rows, statusOfEntry)
    return {
      checked: rows.length,
      ok: ok.length,
      unsigned: unsigned.length,
      legacy: legacy.length,
      invalid: invalid.map(foundEntry),
      stripped: stripped.map(foundEntry),
      cutover: cutover.text,
    }
  }

  const recordRun = async (actor: Actor, range: EntryRange, found: ReturnType<typeof judgeAll>): Promise<void> => {
    const { invalid, stripped, ...counts } = found
    const idsOf = (entries: { id: string }[]) => entries.slice(0, maxIds).map(({ id }) => id)
    const metadata = {
      ...counts,
      invalidCount: invalid.length,
      invalidIds: idsOf(invalid),
      strippedCount: stripped.length,
      strippedIds: idsOf(stripped),
      createdAfter: isoOrNull(range.createdAfter),
      createdBefore: isoOrNull(range.createdBefore),
    }
    const { orgId } = range
    await db.tx((tx) =>
      audit(tx, { orgId, actor, action: 'audit.verified', resourceType: 'audit', resourceId: null, metadata }),
    )
    if (invalid.length + stripped.length === 0) return
    const { invalidCount, invalidIds, strippedCount, strippedIds } = metadata
    log.error(
      { org_id: orgId, invalidCount, invalidIds, strippedCount, strippedIds },
      'audit verification found invalid entries',
    )
  }

  return {
    /** Without a secret no signature can be checked, which does not mean that the log is intact. */
    enabled: secrets.length > 0,
    /** Reads one entry more than `limit`, to find out whether another page follows. */
    page: async (actor: Actor, range: EntryRange) => {
      const rows = await db.rows(listSignedEntries, { ...range, limit: range.limit + 1 })
      const found = judgeAll(rows.slice(0, range.limit))
      await recordRun(actor, range, found)
      return { found, rows }
    },
  }
}
