/**
 * A hash chain over the audit entries of each org. An entry's signature proves only that entry. The chain reveals
 * entries that were removed, inserted or reordered. Entries are linked after they are written, so that writers do not
 * wait for each other.
 */
import { createHash, createHmac } from 'node:crypto'
import type { Db } from '../db/pool.ts'
import { canonicalJson } from '../ground/canonical.ts'
import type { Clock } from '../ground/clock.ts'
import { sameBytes } from '../ground/crypto.ts'
import type { Log } from '../ground/log.ts'
import {
  beginChain,
  type ChainRow,
  countUnlinked,
  type EntryRow,
  entriesToLink,
  findChain,
  insertLinks,
  lockChain,
  lostEntries,
  orgsToLink,
  readLinks,
  strayEntries,
} from './store.ts'

const chunk = 1_000
const maxFindings = 100

type Content = Pick<EntryRow, 'org_id' | 'id' | 'action' | 'resource_type' | 'resource_id' | 'metadata'> & {
  created_at: string
}

/** The hashed content of an entry: the signed fields except the actor, which is cleared when a user is erased. */
const contentOf = (row: EntryRow): Content => ({
  org_id: row.org_id,
  id: row.id,
  action: row.action,
  resource_type: row.resource_type,
  resource_id: row.resource_id,
  metadata: row.metadata,
  created_at: row.created_at.toISOString(),
})

const linkDigest = (previous: Buffer, seq: number, content: Content): Buffer => {
  const { org_id, id, action, resource_type, resource_id, metadata, created_at } = content
  const fields = [seq, org_id, id, action, resource_type, resource_id, metadata, created_at]
  // Serialized field by field, so that metadata may be nested as deeply here as in the signature.
  return createHash('sha256')
    .update(previous)
    .update(`[${fields.map(canonicalJson).join(',')}]`)
    .digest()
}

/** The head is the newest link. The pruned end is the last link that retention removed. */
type ChainEnd = { end: 'head' | 'pruned'; orgId: string; seq: number; digest: Buffer }

/** Signs an end of the chain. Without the secret, a shortened chain cannot be passed off as the complete one. */
export const signEnd = (secret: string | undefined, { end, orgId, seq, digest }: ChainEnd): string | null =>
  secret === undefined
    ? null
    : createHmac('sha256', secret)
        .update(JSON.stringify([end, orgId, seq, digest.toString('hex')]))
        .digest('hex')

export type ChainReport = {
  org_id: string
  checked: number
  /** Ids of entries that are linked or waiting to be linked, but no longer exist. */
  missing: string[]
  /** Sequence numbers of links that do not match their entry and the previous link, or that come after the head. */
  broken: number[]
  /** Ids of entries that are neither linked nor waiting to be linked. */
  stray: string[]
  head: EndStatus | 'cut_off'
  pruned: EndStatus
  /** The number of entries that are waiting to be linked. */
  waiting: number
}

/**
 * `none`: the chain does not have this end yet. `unsigned`: no secret is configured. `stripped`: the signature is
 * missing although a secret is configured, because it was removed or the end was written before the secret was set.
 */
type EndStatus = 'none' | 'ok' | 'unsigned' | 'stripped' | 'invalid'

export const isIntact = ({ missing, broken, stray, head, pruned }: ChainReport): boolean =>
  missing.length + broken.length + stray.length === 0 &&
  head !== 'cut_off' &&
  [head, pruned].every((end) => end !== 'stripped' && end !== 'invalid')

type Link = { seq: number; digest: Buffer }
type Walked = { checked: number; missing: string[]; broken: number[]; last: Link }

const startOf = ({ pruned_seq, pruned_digest }: ChainRow): Link => ({
  seq: pruned_seq,
  digest: pruned_digest ?? Buffer.alloc(0),
})

export interface Chain {
  /** Links all waiting entries, a chunk per org in turn. Returns how many were linked. */
  link(): Promise<number>
  /** Checks the whole chain of an org in pages. The chain may grow during the check. Reports at most 100 findings per kind. */
  verify(orgId: string): Promise<ChainReport>
}

type Needs = { db: Db; clock: Clock; log: Log; secret: string | undefined }

export const makeChain = ({ db, clock, log, secret }: Needs): Chain => {
  const linkOrg = (orgId: string): Promise<number> =>
    db.tx(async (tx) => {
      const at = clock.now()
      await tx.change(beginChain, { orgId, at })
      const chain = await tx.row(lockChain, { orgId })
      if (!chain) return 0
      const entries = await tx.rows(entriesToLink, { orgId, limit: chunk })
      if (entries.length === 0) return 0
      let { head_seq: seq, head_digest: digest } = chain
      const links = entries.map((entry) => {
        digest = linkDigest(digest, ++seq, contentOf(entry))
        return { seq, entryId: entry.id, digest }
      })
      await tx.change(insertLinks, {
        orgId,
        seqs: links.map((link) => link.seq),
        entryIds: links.map((link) => link.entryId),
        digests: links.map((link) => link.digest),
        headSignature: signEnd(secret, { end: 'head', orgId, seq, digest }),
        at,
      })
      // The head is also logged, so that someone who can rewrite the database cannot rewrite every copy of it.
      log.info({ org_id: orgId, seq, digest: digest.toString('hex') }, 'audit chain extended')
      return links.length
    })

  const endStatus = (end: ChainEnd, signature: string | null): EndStatus => {
    const expected = signEnd(secret, end)
    if (expected === null) return 'unsigned'
    if (signature === null) return 'stripped'
    return sameBytes(expected, signature) ? 'ok' : 'invalid'
  }

  const verifyEnds = (orgId: string, chain: ChainRow, last: Link) => {
    const { head_seq, head_digest, head_signature, pruned_seq, pruned_digest, pruned_signature } = chain
    const reached = last.seq === head_seq && last.digest.equals(head_digest)
    const head = !reached
      ? 'cut_off'
      : head_seq === 0
        ? 'none'
        : endStatus({ end: 'head', orgId, seq: head_seq, digest: head_digest }, head_signature)
    const pruned =
      pruned_digest === null
        ? 'none'
        : endStatus({ end: 'pruned', orgId, seq: pruned_seq, digest: pruned_digest }, pruned_signature)
    return { head, pruned } as const
  }

  /** Checks the links from the pruned end up to the head in `chain`. Links added since then are not included. */
  const walk = async (orgId: string, chain: ChainRow): Promise<Walked> => {
    const walked: Walked = { checked: 0, missing: [], broken: [], last: startOf(chain) }
    for (;;) {
      const links = await db.rows(readLinks, {
        orgId,
        afterSeq: walked.last.seq,
        lastSeq: chain.head_seq,
        limit: chunk,
      })
      for (const { seq, entry_id, digest, entry } of links) {
        const { last } = walked
        walked.checked++
        if (!entry && walked.missing.length < maxFindings) walked.missing.push(entry_id)
        const content = entry as unknown as Content | null
        const follows = seq === last.seq + 1 && (!content || linkDigest(last.digest, seq, content).equals(digest))
        if (!follows && walked.broken.length < maxFindings) walked.broken.push(seq)
        walked.last = { seq, digest }
      }
      if (links.length < chunk) return walked
    }
  }

  const linkTurn = async (): Promise<{ linked: number; more: boolean }> => {
    const turn = { linked: 0, more: false }
    for (let after = ''; ; ) {
      const orgs = await db.rows(orgsToLink, { afterOrgId: after, limit: chunk })
      for (const { org_id } of orgs) {
        const linked = await linkOrg(org_id).catch((error: unknown) => {
          // A chain that was tampered with must not block the chains of other orgs.
          log.error({ err: error, org_id }, 'audit chain linking failed')
          return 0
        })
        turn.linked += linked
        turn.more ||= linked === chunk
        after = org_id
      }
      if (orgs.length < chunk) return turn
    }
  }

  return {
    link: async () => {
      for (let total = 0; ; ) {
        const { linked, more } = await linkTurn()
        total += linked
        if (!more) return total
      }
    },

    verify: async (orgId) => {
      for (;;) {
        const chain = (await db.row(findChain, { orgId })) as ChainRow & { past_head: number[] | null }
        const { checked, missing, broken, last } = await walk(orgId, chain)
        const after = await db.row(findChain, { orgId })
        // Retention removed links during the walk, so the findings may be wrong. Start over.
        if (after?.pruned_seq !== chain.pruned_seq) continue
        const lost = await db.rows(lostEntries, { orgId, limit: maxFindings })
        const stray = await db.rows(strayEntries, { orgId, limit: maxFindings })
        return {
          org_id: orgId,
          checked,
          missing: [...missing, ...lost.map((row) => row.entry_id)].slice(0, maxFindings),
          broken: [...broken, ...(chain.past_head ?? [])].slice(0, maxFindings),
          stray: stray.map((row) => row.id),
          ...verifyEnds(orgId, chain, last),
          waiting: (await db.row(countUnlinked, { orgId }))?.n ?? 0,
        }
      }
    },
  }
}
