/** Looks up what a chain has at the sequence numbers of heads that were kept elsewhere. */
import { statement } from '../../../platform/db/statement.ts'
import type { OrgHead } from './chain-rows.ts'

/** For each head: the digest of its link, and the old end of its chain. Null where the chain has neither. */
export const linksOfHeads = statement<
  { orgIds: string[]; seqs: number[] },
  { position: number; digest: Buffer | null; pruned_seq: number | null; pruned_digest: Buffer | null }
>(
  'audit.links_of_heads',
  `select h.position, l.digest, c.pruned_seq, c.pruned_digest
   from unnest(:orgIds::text[], :seqs::bigint[]) with ordinality as h (org_id, seq, position)
   left join audit_links l on l.org_id = h.org_id and l.seq = h.seq
   left join audit_chains c on c.org_id = h.org_id
   order by h.position`,
)

export const registerRowsOfHeads = statement<{ seqs: number[] }, { seq: number; digest: Buffer }>(
  'audit.register_rows_of_heads',
  'select seq, digest from audit_register where seq = any(:seqs::bigint[])',
)

/** The heads of the chains after `afterOrgId`. */
export const headsAfter = statement<{ afterOrgId: string; limit: number }, OrgHead>(
  'audit.heads_after',
  `select org_id, head_seq, head_digest, head_signature from audit_chains
   where org_id > :afterOrgId and head_seq > 0
   order by org_id
   limit :limit`,
)
