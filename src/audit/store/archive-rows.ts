/** The entries of a day in the order of the archive. */
import { statement } from '../../db/statement.ts'
import { type EntryRow, entryColumns } from '../store.ts'

type DayPage = { orgId: string; to: Date; afterAt: Date; afterId: string; limit: number }

export const entriesOfDay = statement<DayPage, EntryRow>(
  'audit.entries_of_day',
  `select ${entryColumns('e')} from audit_entries e
   where e.org_id = :orgId and (e.created_at, e.id) > (:afterAt::timestamptz, :afterId) and e.created_at < :to
   order by e.created_at, e.id
   limit :limit`,
)
