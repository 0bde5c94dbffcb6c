import { statement } from '../../db/statement.ts'

/** For each entry, in the given order: whether it is there, and whether it is linked. */
export const stateOfEntries = statement<{ orgIds: string[]; ids: string[] }, { present: boolean; linked: boolean }>(
  'audit.state_of_entries',
  `select exists (select 1 from audit_entries e where e.org_id = w.org_id and e.id = w.id) as present,
     exists (select 1 from audit_links l where l.org_id = w.org_id and l.entry_id = w.id) as linked
   from unnest(:orgIds::text[], :ids::text[]) with ordinality as w (org_id, id, position)
   order by w.position`,
)
