/** `tidings ops audit export`: the whole log of an org, for someone who verifies it without the service. */
import {
  type ChainRow,
  entriesToLink,
  findChain,
  type LinkedEntry,
  readLinks,
} from '../../journal/audit/store/chain-rows.ts'
import type { EntryRow } from '../../journal/audit/store/entry-rows.ts'
import { type Context, existing } from './ops-context.ts'

const page = 1_000

const hexOf = (digest: Buffer | null): string | null => digest?.toString('hex') ?? null

/** Timestamps are written as they are signed. */
const entryLine = (row: EntryRow) => ({
  id: row.id,
  org_id: row.org_id,
  action: row.action,
  actor_user_id: row.actor_user_id,
  resource_type: row.resource_type,
  resource_id: row.resource_id,
  metadata: row.metadata,
  created_at: row.created_at,
  ip_address: row.ip_address,
  user_agent: row.user_agent,
  signature: row.signature,
  seal: row.seal,
})

const linkLine = (row: LinkedEntry) => ({
  seq: row.seq,
  digest: hexOf(row.digest),
  entry_id: row.entry_id,
  entry: row.id === null ? null : entryLine(row),
})

const endsLine = (orgId: string, chain: ChainRow) => ({
  org_id: orgId,
  pruned: { seq: chain.pruned_seq, digest: hexOf(chain.pruned_digest), signature: chain.pruned_signature },
  head: { seq: chain.head_seq, digest: hexOf(chain.head_digest), signature: chain.head_signature },
})

/** The first line has the ends of the chain. Each other line is a link with its entry, or an entry without a link. */
export const exportAudit = async (context: Context, orgId: string): Promise<void> => {
  const { db, chain: links, out } = context
  await existing(db, orgId)
  await links.link()
  const chain = await db.row(findChain, { orgId })
  if (!chain) return
  const print = (line: object): void => out(`${JSON.stringify(line)}\n`)
  print(endsLine(orgId, chain))
  for (let afterSeq = chain.pruned_seq; ; ) {
    const rows = await db.rows(readLinks, { orgId, afterSeq, lastSeq: chain.head_seq, limit: page })
    for (const row of rows) print(linkLine(row))
    if (rows.length < page) break
    afterSeq = rows.at(-1)?.seq as number
  }
  for (const entry of await db.rows(entriesToLink, { orgId, skip: 0, limit: page })) {
    print({ seq: null, digest: null, entry_id: entry.id, entry: entryLine(entry) })
  }
}
