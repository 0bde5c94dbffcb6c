import { type NoParams, statement } from '../db/statement.ts'

export type EntryRow = {
  org_id: string
  id: string
  actor_user_id: string | null
  action: string
  resource_type: string | null
  resource_id: string | null
  metadata: Record<string, unknown> | null
  created_at: Date
  signature: string | null
}

const signedColumns = 'org_id, id, actor_user_id, action, resource_type, resource_id, metadata, created_at, signature'

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
}>(
  'audit.insert',
  `with added as (
     insert into audit_entries (org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
       user_agent, created_at, signature)
     select org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
       user_agent, created_at, signature
     from unnest(
       :orgIds::text[], :ids::text[], :actors::text[], :actions::text[], :resourceTypes::text[], :resourceIds::text[],
       :metadata::jsonb[], :ips::text[], :userAgents::text[], :at::timestamptz[], :signatures::text[]
     ) as e (org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
       user_agent, created_at, signature)
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
       user_agent, created_at, signature)
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
  `select ${signedColumns} from audit_entries
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

// The chain

/** Orgs with entries to link. Each org costs one index lookup, however many entries it has. */
export const orgsToLink = statement<{ afterOrgId: string; limit: number }, { org_id: string }>(
  'audit.orgs_to_link',
  `with recursive orgs as (
     (select org_id from audit_unlinked where org_id > :afterOrgId order by org_id limit 1)
     union all
     select (select u.org_id from audit_unlinked u where u.org_id > o.org_id order by u.org_id limit 1)
     from orgs o where o.org_id is not null
   )
   select org_id from orgs where org_id is not null limit :limit`,
)

export type ChainRow = {
  head_seq: number
  head_digest: Buffer
  head_signature: string | null
  pruned_seq: number
  pruned_digest: Buffer | null
  pruned_signature: string | null
}

/** Taken for linking and pruning, never for writing entries. Returns no row if another process has the lock. */
export const lockChain = statement<{ orgId: string }, ChainRow>(
  'audit.lock_chain',
  `select head_seq, head_digest, head_signature, pruned_seq, pruned_digest, pruned_signature
   from audit_chains
   where org_id = :orgId
   for update skip locked`,
)

export const beginChain = statement<{ orgId: string; at: Date }>(
  'audit.begin_chain',
  `insert into audit_chains (org_id, head_seq, head_digest, updated_at) values (:orgId, 0, '', :at)
   on conflict (org_id) do nothing`,
)

/** Both ends of a chain, and any links after the head. Such links exist only if someone inserted them. */
export const findChain = statement<{ orgId: string }, ChainRow & { past_head: number[] | null }>(
  'audit.find_chain',
  `select coalesce(c.head_seq, 0) as head_seq, coalesce(c.head_digest, '') as head_digest, c.head_signature,
     coalesce(c.pruned_seq, 0) as pruned_seq, c.pruned_digest, c.pruned_signature,
     (select array_agg(l.seq::float8 order by l.seq) from (
        select seq from audit_links where org_id = o.org_id and seq > coalesce(c.head_seq, 0) order by seq limit 100) l
     ) as past_head
   from (select :orgId::text as org_id) o left join audit_chains c using (org_id)`,
)

/** Skips entries that were deleted before they were linked. Verifying the chain reports them. */
export const entriesToLink = statement<{ orgId: string; limit: number }, EntryRow>(
  'audit.entries_to_link',
  `select ${signedColumns
    .split(', ')
    .map((name) => `e.${name}`)
    .join(', ')}
   from audit_unlinked u join audit_entries e on e.org_id = u.org_id and e.id = u.entry_id
   where u.org_id = :orgId
   order by u.created_at, u.entry_id
   limit :limit`,
)

export const insertLinks = statement<{
  orgId: string
  seqs: number[]
  entryIds: string[]
  digests: Buffer[]
  headSignature: string | null
  at: Date
}>(
  'audit.insert_links',
  `with links as (
     insert into audit_links (org_id, seq, entry_id, digest)
     select :orgId, seq, entry_id, digest
     from unnest(:seqs::bigint[], :entryIds::text[], :digests::bytea[]) as l (seq, entry_id, digest)
     returning seq, entry_id, digest
   ), taken as (
     delete from audit_unlinked u using links l where u.org_id = :orgId and u.entry_id = l.entry_id
   )
   update audit_chains set (head_seq, head_digest) = (select seq, digest from links order by seq desc limit 1),
     head_signature = :headSignature, updated_at = :at
   where org_id = :orgId`,
)

/** Links with their entries. An entry that no longer exists is null. */
export const readLinks = statement<
  { orgId: string; afterSeq: number; lastSeq: number; limit: number },
  { seq: number; entry_id: string; digest: Buffer; entry: EntryRow | null }
>(
  'audit.read_links',
  `select l.seq, l.entry_id, l.digest,
     case when e.id is null then null else jsonb_build_object('org_id', e.org_id, 'id', e.id,
       'action', e.action, 'resource_type', e.resource_type, 'resource_id', e.resource_id, 'metadata', e.metadata,
       'created_at', to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end as entry
   from audit_links l left join audit_entries e on e.org_id = l.org_id and e.id = l.entry_id
   where l.org_id = :orgId and l.seq > :afterSeq and l.seq <= :lastSeq
   order by l.seq
   limit :limit`,
)

/** Entries that are neither linked nor waiting to be linked. They were not written by the service. */
export const strayEntries = statement<{ orgId: string; limit: number }, { id: string }>(
  'audit.stray_entries',
  `select e.id from audit_entries e
   where e.org_id = :orgId
     and not exists (select 1 from audit_links l where l.org_id = e.org_id and l.entry_id = e.id)
     and not exists (select 1 from audit_unlinked u where u.org_id = e.org_id and u.created_at = e.created_at
       and u.entry_id = e.id)
   limit :limit`,
)

/** Entries that are waiting to be linked but no longer exist. */
export const lostEntries = statement<{ orgId: string; limit: number }, { entry_id: string }>(
  'audit.lost_entries',
  `select u.entry_id from audit_unlinked u
   where u.org_id = :orgId
     and not exists (select 1 from audit_entries e where e.org_id = u.org_id and e.id = u.entry_id)
   order by u.created_at, u.entry_id
   limit :limit`,
)

export const countUnlinked = statement<{ orgId: string }, { n: number }>(
  'audit.count_unlinked',
  'select count(*) as n from audit_unlinked where org_id = :orgId',
)

// Retention

/**
 * Orgs whose first entry is older than `before`. Ids start with the creation time, so the lowest id is the oldest
 * entry. Only linked entries are pruned, so every such org has a chain.
 */
export const orgsWithOldEntries = statement<{ before: Date }, { org_id: string }>(
  'audit.orgs_with_old_entries',
  `select org_id from audit_chains c
   where (select created_at from audit_entries e where e.org_id = c.org_id order by id limit 1) < :before`,
)

/** The oldest links of a chain. `created_at` is null if the entry no longer exists. */
export const oldestLinks = statement<
  { orgId: string; limit: number },
  { seq: number; entry_id: string; digest: Buffer; created_at: Date | null }
>(
  'audit.oldest_links',
  `select l.seq, l.entry_id, l.digest, e.created_at
   from audit_links l left join audit_entries e on e.org_id = l.org_id and e.id = l.entry_id
   where l.org_id = :orgId
   order by l.seq
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
