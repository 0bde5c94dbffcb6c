import { columns, json, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { type NoParams, statement } from '../../../platform/db/statement.ts'

export const entryColumns = columns({
  org_id: text,
  id: text,
  actor_user_id: text.orNull,
  action: text,
  resource_type: text.orNull,
  resource_id: text.orNull,
  metadata: json<Record<string, unknown>>().orNull,
  ip_address: text.orNull,
  user_agent: text,
  created_at: time,
  signature: text.orNull,
  seal: text.orNull,
})

export type EntryRow = RowOf<typeof entryColumns>

/** Inserts entries and queues them to be linked into the chain. */
export const insertEntries = statement<{
  orgIds: string[]
  ids: string[]
  actors: (string | null)[]
  actions: string[]
  resourceTypes: (string | null)[]
  resourceIds: (string | null)[]
  metadata: (string | null)[]
  ips: (string | null)[]
  userAgents: string[]
  at: Date[]
  signatures: (string | null)[]
  seals: (string | null)[]
}>(
  'audit.insert',
  `with added as (
     insert into audit_entries (${entryColumns})
     select ${entryColumns}
     from unnest(
       :orgIds::text[], :ids::text[], :actors::text[], :actions::text[], :resourceTypes::text[], :resourceIds::text[],
       :metadata::jsonb[], :ips::text[], :userAgents::text[], :at::timestamptz[], :signatures::text[],
       :seals::text[]
     ) as e (${entryColumns})
     returning org_id, created_at, id
   )
   insert into audit_unlinked (org_id, created_at, entry_id) select org_id, created_at, id from added`,
)

/**
 * Two common table expressions that insert the entries returned by `query`, for a module that writes action and entry
 * in one statement. The columns of `query` must be in the order of `entryColumns`. If the statement fails, the module runs it
 * without these and passes the entries to `Audit`, which writes them under a savepoint.
 */
export const appendEntries = (query: string): string => `
   entries as (
     insert into audit_entries (${entryColumns})
     ${query}
     returning org_id, created_at, id
   ), unlinked as (
     insert into audit_unlinked (org_id, created_at, entry_id) select org_id, created_at, id from entries
   )`

// A trigger rejects changes to entries unless the transaction names one of the two operations that may make them.

export const permitChanges = statement<{ path: 'erasure' | 'retention' }, { path: string }>(
  'audit.permit_changes',
  "select set_config('tidings.audit_path', :path, true) as path",
)

export const forbidChanges = statement<NoParams, { path: string }>(
  'audit.forbid_changes',
  "select set_config('tidings.audit_path', '', true) as path",
)

/** Locks and returns a chunk of a user's entries. */
export const entriesOfActor = statement<{ userId: string; limit: number }, EntryRow>(
  'audit.entries_of_actor',
  `select ${entryColumns.of('e')} from audit_entries e
   where actor_user_id = :userId
   order by org_id, id
   limit :limit
   for update`,
)

export const anonymise = statement<{ orgIds: string[]; ids: string[]; signatures: (string | null)[] }>(
  'audit.anonymise',
  `update audit_entries e set actor_user_id = null, signature = a.signature
   from unnest(:orgIds::text[], :ids::text[], :signatures::text[]) as a (org_id, id, signature)
   where e.org_id = a.org_id and e.id = a.id`,
)
