/** Imports a CSV file of contacts into an audience: all its rows or, if the file is refused, none. */
import type { Actor, Audit } from '../../../journal/audit/append.ts'
import { entryAbout } from '../../../journal/audit/entry-about.ts'
import type { Db, Tx } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { orNotFound } from '../../../platform/ground/or-not-found.ts'
import { makeOrgTurns } from '../../../platform/ground/org-turns.ts'
import { assertMayChange } from '../../../platform/ground/own-rows.ts'
import type { Scope } from '../../../platform/ground/scope.ts'
import { holdTenant } from '../access.ts'
import type { ImportReport } from '../shapes.ts'
import { findAudience, lockAudience } from '../store/audience-rows.ts'
import { linkContacts } from '../store/member-rows.ts'
import { loadContacts } from './load-contacts.ts'
import { type CsvFile, parseCsv } from './parse-csv.ts'

export const maxCsvBytes = 10 * 1_048_576

/** Contacts that exist already are only linked. Suppressions are not touched, so nobody is subscribed again. */
export type ImportCsv = (scope: Scope, actor: Actor, audienceId: string, bytes: Buffer) => Promise<ImportReport>

/** What an import did, from the contacts of its rows and those that became members. */
const reportOf = (
  { rows, errors }: CsvFile,
  ids: string[],
  created: Set<string>,
  linked: Set<string>,
): ImportReport => {
  const newMembers = [...linked].filter((id) => !created.has(id)).length
  return {
    rows,
    created: created.size,
    linked: newMembers,
    already_members: ids.length - created.size - newMembers,
    skipped: errors.length,
    errors,
  }
}

export const makeImportCsv = ({ db, clock, audit }: { db: Db; clock: Clock; audit: Audit }): ImportCsv => {
  const load = async (tx: Tx, scope: Scope, audienceId: string, file: CsvFile): Promise<ImportReport> => {
    const { orgId, environment } = scope
    const audience = assertMayChange(scope, await tx.row(findAudience, { orgId, id: audienceId }))
    const { tenant_id: tenantId } = audience
    await holdTenant(tx, orgId, tenantId)
    const at = clock.now()
    const loaded = await loadContacts(tx, { orgId, tenantId, environment, at }, file.contacts)
    const ids = loaded.ids.filter((id) => id !== undefined)
    // Another request deleted a contact after it was matched. The import starts again.
    if (ids.length < loaded.ids.length) throw new ContactsChangedFault()
    // Contacts are locked before the audience, as in a deletion of a contact, so that the two cannot deadlock.
    await orNotFound(tx.row(lockAudience, { orgId, id: audienceId }))
    const contactIds = [...new Set(ids)]
    const linked = await tx.rows(linkContacts, { orgId, audienceId, contactIds, at })
    return reportOf(file, ids, loaded.created, new Set(linked.map(({ contact_id }) => contact_id)))
  }

  const importOnce = (scope: Scope, actor: Actor, audienceId: string, file: CsvFile): Promise<ImportReport> =>
    db.tx(async (tx) => {
      const report = await load(tx, scope, audienceId, file)
      const { errors: _, ...counts } = report
      const about = entryAbout(scope.orgId, actor, 'audience', audienceId)
      await audit(tx, { ...about, action: 'audience.csv_imported', metadata: counts })
      return report
    })

  const takeTurn = makeOrgTurns({ what: 'imports', running: 2, waitingPerOrg: 10 })

  const importFile = async (scope: Scope, actor: Actor, audienceId: string, bytes: Buffer): Promise<ImportReport> => {
    const file = await parseCsv(bytes)
    for (let tries = 1; ; tries++) {
      try {
        return await importOnce(scope, actor, audienceId, file)
      } catch (error) {
        if (!(error instanceof ContactsChangedFault) || tries === 5) throw error
      }
    }
  }

  return async (scope, actor, audienceId, bytes) => {
    // Before the file is parsed: nobody learns from a fault in the file that an audience exists.
    assertMayChange(scope, await db.row(findAudience, { orgId: scope.orgId, id: audienceId }))
    return takeTurn(scope.orgId, () => importFile(scope, actor, audienceId, bytes))
  }
}

class ContactsChangedFault extends Error {
  constructor() {
    super('contacts were deleted while they were imported')
  }
}
