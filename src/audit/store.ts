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

/** The entry and its place in the line for the chain, together. */
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
     select * from unnest(:orgIds::text[], :ids::text[], :actors::text[], :actions::text[], :resourceTypes::text[], :resourceIds::text[], :metadata::jsonb[],
       :ips::text[], :userAgents::text[], :at::timestamptz[], :signatures::text[])
     returning org_id, created_at, id
   )
   insert into audit_unlinked (org_id, created_at, entry_id) select org_id, created_at, id from added`,
)

/**
 * Two steps of a larger statement that write the entries a query gives, for slices whose statements are many; its
 * columns come in the order below. Where it fails the slice writes without it and hands the entries to the audit, under
 * its savepoint.
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

/** Says which of the two paths that may touch entries this transaction is. */
export const openPath = statement<{ path: 'erasure' | 'retention' }, { path: string }>(
  'audit.open_path',
  "select set_config('tidings.audit_path', :path, true) as path",
)

export const closePath = statement<NoParams, { path: string }>(
  'audit.close_path',
  "select set_config('tidings.audit_path', '', true) as path",
)

/** One chunk of a person's entries, locked until they are rewritten. */
export const entriesOfActor = statement<{ userId: string; limit: number }, EntryRow>(
  'audit.entries_of_actor',
  `select ${signedColumns} from audit_entries where actor_user_id = :userId order by org_id, id limit :limit for update`,
)

export const anonymise = statement<{ orgIds: string[]; ids: string[]; signatures: (string | null)[] }>(
  'audit.anonymise',
  `update audit_entries e set actor_user_id = null, signature = a.signature
   from unnest(:orgIds::text[], :ids::text[], :signatures::text[]) as a (org_id, id, signature)
   where e.org_id = a.org_id and e.id = a.id`,
)

// The chain

/** The orgs with entries to link, each found by one look into the index. */
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

/** Only linkers take this lock; writers never do. Nothing when another linker has the org in hand. */
export const lockChain = statement<{ orgId: string }, ChainRow>(
  'audit.lock_chain',
  'select * from audit_chains where org_id = :orgId for update skip locked',
)

export const beginChain = statement<{ orgId: string; at: Date }>(
  'audit.begin_chain',
  `insert into audit_chains (org_id, head_seq, head_digest, updated_at) values (:orgId, 0, '', :at)
   on conflict (org_id) do nothing`,
)

/** Both ends as they are, and links past the head: there are none, unless somebody put them there. */
export const findChain = statement<{ orgId: string }, ChainRow & { past_head: number[] | null }>(
  'audit.find_chain',
  `select coalesce(c.head_seq, 0) as head_seq, coalesce(c.head_digest, '') as head_digest, c.head_signature,
     coalesce(c.pruned_seq, 0) as pruned_seq, c.pruned_digest, c.pruned_signature,
     (select array_agg(l.seq::float8 order by l.seq) from (
        select seq from audit_links where org_id = o.org_id and seq > coalesce(c.head_seq, 0) order by seq limit 100) l
     ) as past_head
   from (select :orgId::text as org_id) o left join audit_chains c using (org_id)`,
)

/** An entry that is gone before it was linked is passed over here and shows when the chain is verified. */
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
     select :orgId, seq, entry_id, digest from unnest(:seqs::bigint[], :entryIds::text[], :digests::bytea[]) as l (seq, entry_id, digest)
     returning seq, entry_id, digest
   ), taken as (
     delete from audit_unlinked u using links l where u.org_id = :orgId and u.entry_id = l.entry_id
   )
   update audit_chains set (head_seq, head_digest) = (select seq, digest from links order by seq desc limit 1),
     head_signature = :headSignature, updated_at = :at
   where org_id = :orgId`,
)

/** Links with the entries they stand for; an entry that is gone reads as null. */
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

/** Entries neither linked nor waiting to be: put in behind the service's back. */
export const strayEntries = statement<{ orgId: string; limit: number }, { id: string }>(
  'audit.stray_entries',
  `select e.id from audit_entries e
   where e.org_id = :orgId
     and not exists (select 1 from audit_links l where l.org_id = e.org_id and l.entry_id = e.id)
     and not exists (select 1 from audit_unlinked u where u.org_id = e.org_id and u.created_at = e.created_at
       and u.entry_id = e.id)
   limit :limit`,
)

/** Entries that wait to be linked but are gone. */
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

/** Those whose first entry is old: ids begin with their time. Only what is linked goes, so there is a chain. */
export const orgsWithOld = statement<{ before: Date }, { org_id: string }>(
  'audit.orgs_with_old',
  `select org_id from audit_chains c
   where (select created_at from audit_entries e where e.org_id = c.org_id order by id limit 1) < :before`,
)

/** The old end of a chain; an entry that is gone has no age. */
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

export const prune = statement<{ orgId: string; entryIds: string[] }>(
  'audit.prune',
  `with gone as (delete from audit_links where org_id = :orgId and entry_id = any(:entryIds::text[]))
   delete from audit_entries where org_id = :orgId and id = any(:entryIds::text[])`,
)

export const moveTail = statement<{ orgId: string; seq: number; digest: Buffer; signature: string | null; at: Date }>(
  'audit.move_tail',
  `update audit_chains set pruned_seq = :seq, pruned_digest = :digest, pruned_signature = :signature, updated_at = :at
   where org_id = :orgId`,
)
