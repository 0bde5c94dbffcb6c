import { statement } from '../../../platform/db/statement.ts'
import type { ChainRow } from './chain-rows.ts'

/** For each entry, in the given order: whether it is there, and whether it is linked. */
export const stateOfEntries = statement<{ orgIds: string[]; ids: string[] }, { present: boolean; linked: boolean }>(
  'audit.state_of_entries',
  'select present, linked from state_of_entries(:orgIds::text[], :ids::text[])',
)

type Pruned = Pick<ChainRow, 'pruned_seq' | 'pruned_digest' | 'pruned_signature'>

/** Of the given orgs, those that are deleted and whose chain is pruned up to its head, with that end. */
export const deletedLogs = statement<{ orgIds: string[] }, Pruned & { org_id: string }>(
  'audit.deleted_logs',
  `select c.org_id, c.pruned_seq, c.pruned_digest, c.pruned_signature
   from audit_chains c
   where c.org_id = any(:orgIds::text[]) and c.pruned_seq = c.head_seq
     and not exists (select 1 from orgs o where o.id = c.org_id and o.deleted_at is null)`,
)
