import { type NoParams, statement } from '../db/statement.ts'

export type EntryRow = {
  org_id: string
  id: string
  actor_user_id: string | null
  action: string
  resource_type: string | null
  resource_id: string | null
  metadata: Record<string, unknown> | null
  ip_address: string | null
  user_agent: string
  created_at: Date
  signature: string | null
  seal: string | null
}

/** The columns of an `EntryRow`, of the table with the given alias. */
export const entryColumns = (alias: string): string =>
  [
    'org_id',
    'id',
    'actor_user_id',
    'action',
    'resource_type',
    'resource_id',
    'metadata',
    'ip_address',
    'user_agent',
    'created_at',
    'signature',
    'seal',
  ]
    .map((name) => `${alias}.${name}`)
    .join(', ')

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
     insert into audit_entries (org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
       user_agent, created_at, signature, seal)
     select org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
       user_agent, created_at, signature, seal
     from unnest(
       :orgIds::text[], :ids::text[], :actors::text[], :actions::text[], :resourceTypes::text[], :resourceIds::text[],
       :metadata::jsonb[], :ips::text[], :userAgents::text[], :at::timestamptz[], :signatures::text[],
       :seals::text[]
     ) as e (org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
       user_agent, created_at, signature, seal)
     returning org_id, created_at, id
   )
   insert into audit_unlinked (org_id, created_at, entry_id) select org_id, created_at, id from added`,
)

/**
 * Two common table expressions that insert the entries returned by `query`, for a module that writes action and entry
 * in one statement. The columns of `query` must be in the order below. If the statement fails, the module runs it
 * without these and passes the entries to `Audit`, which writes them under a savepoint.
 */
export const appendEntries = (query: string): string => `
   entries as (
     insert into audit_entries (org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
       user_agent, created_at, signature, seal)
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
  `select ${entryColumns('e')} from audit_entries e
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
