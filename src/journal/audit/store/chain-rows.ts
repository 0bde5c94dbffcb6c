/** The chains: their ends, their links, and the entries that wait to be linked. */
import { bytes, columns, number, type RowOf, text } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type EntryRow, entryColumns } from './entry-rows.ts'

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

const endColumns = columns({
  head_seq: number,
  head_digest: bytes,
  head_signature: text.orNull,
  pruned_seq: number,
  pruned_digest: bytes.orNull,
  pruned_signature: text.orNull,
})

/** `registered`: whether the register names the org. */
export type ChainRow = RowOf<typeof endColumns> & { registered: boolean }

/** The head of the chain of an org. */
export type OrgHead = Pick<ChainRow, 'head_seq' | 'head_digest' | 'head_signature'> & { org_id: string }

/** Taken for linking and pruning, never for writing entries. Returns no row if another process has the lock. */
export const lockChain = statement<{ orgId: string }, ChainRow>(
  'audit.lock_chain',
  `select ${endColumns},
     exists (select 1 from audit_register r where r.org_id = c.org_id) as registered
   from audit_chains c
   where org_id = :orgId
   for update of c skip locked`,
)

/** The ends of the chains after `afterOrgId`, and whether the org still exists. */
export const endsAfter = statement<
  { afterOrgId: string; limit: number },
  ChainRow & { org_id: string; has_org: boolean }
>(
  'audit.ends_after',
  `select org_id, ${endColumns},
     exists (select 1 from audit_register r where r.org_id = c.org_id) as registered,
     exists (select 1 from orgs o where o.id = c.org_id) as has_org
   from audit_chains c
   where org_id > :afterOrgId
   order by org_id
   limit :limit`,
)

/**
 * The first statement of a transaction that links. The others are prepared, and may be planned while the tables have a few
 * rows only, which are read fastest as a whole. Until the plan is made again the tables can have thousands.
 */
export const beginChain = statement<{ orgId: string; at: Date }>(
  'audit.begin_chain',
  `with by_index as materialized (select set_config('enable_seqscan', 'off', true))
   insert into audit_chains (org_id, head_seq, head_digest, updated_at) select :orgId, 0, '', :at from by_index
   on conflict (org_id) do nothing`,
)

/** With the entries of links after the head. Such links exist only if someone inserted them. */
export type FoundChain = ChainRow & { past_head: string[] | null }

export const findChain = statement<{ orgId: string }, FoundChain>(
  'audit.find_chain',
  `select coalesce(c.head_seq, 0) as head_seq, coalesce(c.head_digest, '') as head_digest, c.head_signature,
     coalesce(c.pruned_seq, 0) as pruned_seq, c.pruned_digest, c.pruned_signature,
     exists (select 1 from audit_register r where r.org_id = o.org_id) as registered,
     (select array_agg(l.entry_id order by l.seq) from (
        select seq, entry_id from audit_links where org_id = o.org_id and seq > coalesce(c.head_seq, 0)
        order by seq limit 100) l
     ) as past_head
   from (select :orgId::text as org_id) o left join audit_chains c using (org_id)`,
)

/** An entry and its time in the queue, which is its own unless someone has changed one of them. */
export type WaitingEntry = EntryRow & { queued_at: Date }

/**
 * Waiting entries in the order of their linking. Leaves out entries that no longer exist and entries that are linked
 * already, which verification reports. `skip` leaves out the entries at the front that cannot be linked.
 *
 * Each entry and its link are found by their keys, whatever the planner knows about the tables. The limits keep it from
 * reading all entries or links of the org. Only the primary key has the order of `e`: with `a.id = u.entry_id`, the
 * planner takes audit_entries_page for as good while the table is small, and that reads all entries of the org each time.
 */
export const entriesToLink = statement<{ orgId: string; skip: number; limit: number }, WaitingEntry>(
  'audit.entries_to_link',
  `select ${entryColumns.of('e')}, u.created_at as queued_at
   from audit_unlinked u
   cross join lateral (
     select ${entryColumns.of('a')} from audit_entries a
     where a.org_id = u.org_id and a.id >= u.entry_id and a.id <= u.entry_id
     order by a.id limit 1
   ) e
   where u.org_id = :orgId
     and (select l.seq from audit_links l where l.org_id = u.org_id and l.entry_id = u.entry_id limit 1) is null
   order by u.created_at, u.entry_id
   offset :skip limit :limit`,
)

export const insertLinks = statement<{
  orgId: string
  seqs: number[]
  entryIds: string[]
  queuedAt: Date[]
  digests: Buffer[]
  headSeq: number
  headDigest: Buffer
  headSignature: string | null
  at: Date
}>(
  'audit.insert_links',
  `with links as (
     insert into audit_links (org_id, seq, entry_id, digest)
     select :orgId, seq, entry_id, digest
     from unnest(:seqs::bigint[], :entryIds::text[], :digests::bytea[]) as l (seq, entry_id, digest)
   ), taken as (
     delete from audit_unlinked u
     using unnest(:queuedAt::timestamptz[], :entryIds::text[]) as l (queued_at, entry_id)
     where u.org_id = :orgId and u.created_at = l.queued_at and u.entry_id = l.entry_id
   )
   update audit_chains set head_seq = :headSeq, head_digest = :headDigest, head_signature = :headSignature,
     updated_at = :at
   where org_id = :orgId`,
)

export type LinkRow = { seq: number; entry_id: string; digest: Buffer }

/** A link and its entry. If the entry no longer exists, all its columns are null. */
export type LinkedEntry = LinkRow & (EntryRow | { [Column in keyof EntryRow]: null })

/** Selects links with their entries, up to the condition. */
export const selectLinks = `select l.seq, l.entry_id, l.digest, ${entryColumns.of('e')}
   from audit_links l left join audit_entries e on e.org_id = l.org_id and e.id = l.entry_id`

export const readLinks = statement<{ orgId: string; afterSeq: number; lastSeq: number; limit: number }, LinkedEntry>(
  'audit.read_links',
  `${selectLinks}
   where l.org_id = :orgId and l.seq > :afterSeq and l.seq <= :lastSeq
   order by l.seq
   limit :limit`,
)

/** The links up to `lastSeq`, newest first. */
export const readLinksDown = statement<{ orgId: string; lastSeq: number; limit: number }, LinkedEntry>(
  'audit.read_links_down',
  `${selectLinks}
   where l.org_id = :orgId and l.seq <= :lastSeq
   order by l.seq desc
   limit :limit`,
)

/** Entries of a range of time, both ends included, that are neither linked nor waiting to be linked. */
export const strayEntriesBetween = statement<
  { orgId: string; from: Date | null; until: Date | null; limit: number },
  { id: string }
>(
  'audit.stray_entries_between',
  `select e.id from audit_entries e
   where e.org_id = :orgId
     and e.created_at >= coalesce(:from::timestamptz, '-infinity')
     and e.created_at <= coalesce(:until::timestamptz, 'infinity')
     and not exists (select 1 from audit_links l where l.org_id = e.org_id and l.entry_id = e.id)
     and not exists (select 1 from audit_unlinked u where u.org_id = e.org_id and u.created_at = e.created_at
       and u.entry_id = e.id)
   order by e.created_at desc, e.id desc
   limit :limit`,
)

/** Entries that wait to be linked although they are linked. */
export const queuedAgain = statement<{ orgId: string; limit: number }, { id: string }>(
  'audit.queued_again',
  `select u.entry_id as id from audit_unlinked u
   where u.org_id = :orgId
     and exists (select 1 from audit_links l where l.org_id = u.org_id and l.entry_id = u.entry_id)
   order by u.created_at, u.entry_id
   limit :limit`,
)

/** Entries that are neither linked nor waiting to be linked, or that are both. The service leaves none of either kind. */
export const strayEntries = statement<{ orgId: string; limit: number }, { id: string }>(
  'audit.stray_entries',
  `select id from (
     (select e.id from audit_entries e
      where e.org_id = :orgId
        and not exists (select 1 from audit_links l where l.org_id = e.org_id and l.entry_id = e.id)
        and not exists (select 1 from audit_unlinked u where u.org_id = e.org_id and u.created_at = e.created_at
          and u.entry_id = e.id)
      limit :limit)
     union
     (select u.entry_id from audit_unlinked u
      where u.org_id = :orgId
        and exists (select 1 from audit_links l where l.org_id = u.org_id and l.entry_id = u.entry_id)
      limit :limit)
   ) stray
   order by id
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

type EndSignatures = { orgId: string; headSignature: string | null; prunedSignature: string | null; at: Date }

/** Replaces the signatures of both ends. Only for ends that verify, or that an operator has decided to trust. */
export const setEndSignatures = statement<EndSignatures>(
  'audit.set_end_signatures',
  `update audit_chains set head_signature = :headSignature, pruned_signature = :prunedSignature, updated_at = :at
   where org_id = :orgId`,
)

/** Both ends become the same link, so that the chain has no entries and continues from there. */
export const restartChain = statement<EndSignatures & { seq: number; digest: Buffer }>(
  'audit.restart_chain',
  `update audit_chains set head_seq = :seq, head_digest = :digest, head_signature = :headSignature,
     pruned_seq = :seq, pruned_digest = :digest, pruned_signature = :prunedSignature, updated_at = :at
   where org_id = :orgId`,
)

/** Every org that has any part of an audit log, and every org of the installation. */
export const orgsWithLogs = statement<{ afterOrgId: string; limit: number }, { org_id: string }>(
  'audit.orgs_with_logs',
  `with recursive entries as (
     (select org_id from audit_entries where org_id > :afterOrgId order by org_id limit 1)
     union all
     select (select a.org_id from audit_entries a where a.org_id > e.org_id order by a.org_id limit 1)
     from entries e where e.org_id is not null
   )
   select org_id from (
     (select org_id from entries where org_id is not null limit :limit)
     union (select id from orgs where id > :afterOrgId order by id limit :limit)
     union (select org_id from audit_chains where org_id > :afterOrgId order by org_id limit :limit)
     union (select org_id from audit_register where org_id > :afterOrgId order by org_id limit :limit)
     union (select distinct org_id from audit_unlinked where org_id > :afterOrgId order by org_id limit :limit)
     union (select distinct org_id from audit_links where org_id > :afterOrgId order by org_id limit :limit)
   ) all_orgs
   order by org_id limit :limit`,
)
