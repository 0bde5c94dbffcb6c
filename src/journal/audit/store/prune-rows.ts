/** Retention of audit entries: the old ends of the chains. */
import { statement } from '../../../platform/db/statement.ts'
import { type LinkedEntry, selectLinks } from './chain-rows.ts'
import { type EntryRow, entryColumns } from './entry-rows.ts'

/** The chains after `afterOrgId`, each with the entry of its oldest link. */
export const oldestEntries = statement<
  { afterOrgId: string; limit: number },
  { org_id: string; entry_id: string | null }
>(
  'audit.oldest_entries',
  `select org_id,
     (select l.entry_id from audit_links l where l.org_id = c.org_id order by l.seq limit 1) as entry_id
   from audit_chains c
   where org_id > :afterOrgId
   order by org_id
   limit :limit`,
)

export const oldestLinks = statement<{ orgId: string; limit: number }, LinkedEntry>(
  'audit.oldest_links',
  `${selectLinks}
   where l.org_id = :orgId
   order by l.seq
   limit :limit`,
)

/** The newest decisions of operators to trust the ends of the chain. */
export const trustDecisions = statement<{ orgId: string; limit: number }, EntryRow>(
  'audit.trust_decisions',
  `select ${entryColumns.of('e')} from audit_entries e
   where e.org_id = :orgId and e.action = 'audit.ends_signed'
   order by e.created_at desc, e.id desc
   limit :limit`,
)

export const deleteEntries = statement<{ orgId: string; entryIds: string[] }>(
  'audit.delete_entries',
  `with links as (delete from audit_links where org_id = :orgId and entry_id = any(:entryIds::text[]))
   delete from audit_entries where org_id = :orgId and id = any(:entryIds::text[])`,
)

export const setPrunedEnd = statement<{
  orgId: string
  seq: number
  digest: Buffer
  signature: string | null
  at: Date
}>(
  'audit.set_pruned_end',
  `update audit_chains set pruned_seq = :seq, pruned_digest = :digest, pruned_signature = :signature, updated_at = :at
   where org_id = :orgId`,
)

/** A page of the entries of a day, in the order of the archive. */
type DayPage = { orgId: string; to: Date; afterAt: Date; afterId: string; limit: number }

export const entriesOfDay = statement<DayPage, EntryRow>(
  'audit.entries_of_day',
  `select ${entryColumns.of('e')} from audit_entries e
   where e.org_id = :orgId and (e.created_at, e.id) > (:afterAt::timestamptz, :afterId) and e.created_at < :to
   order by e.created_at, e.id
   limit :limit`,
)

// The rest is for the log of a deleted org.

export const deleteUnlinked = statement<{ orgId: string }>(
  'audit.delete_unlinked',
  'delete from audit_unlinked where org_id = :orgId',
)

export const deleteSomeLinks = statement<{ orgId: string; limit: number }>(
  'audit.delete_some_links',
  `delete from audit_links
   where org_id = :orgId and seq = any (array(select seq from audit_links where org_id = :orgId limit :limit))`,
)

export const deleteSomeEntries = statement<{ orgId: string; limit: number }>(
  'audit.delete_some_entries',
  `delete from audit_entries
   where org_id = :orgId and id = any (array(select id from audit_entries where org_id = :orgId limit :limit))`,
)

export const newestEntry = statement<{ orgId: string }, { created_at: Date }>(
  'audit.newest_entry',
  'select created_at from audit_entries where org_id = :orgId order by created_at desc, id desc limit 1',
)
