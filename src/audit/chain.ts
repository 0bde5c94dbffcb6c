/**
 * Beyond the documented signature, which proves each entry by itself: a chain per org, which shows that none was
 * removed, put in or moved. Entries are linked after the fact, so that writers never wait for each other.
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
const mostFindings = 100

type Content = Pick<EntryRow, 'org_id' | 'id' | 'action' | 'resource_type' | 'resource_id' | 'metadata'> & {
  created_at: string
}

/** Everything but the actor, which the erasure of a person may clear, and what was never proven. */
const contentOf = (row: EntryRow): Content => ({
  org_id: row.org_id,
  id: row.id,
  action: row.action,
  resource_type: row.resource_type,
  resource_id: row.resource_id,
  metadata: row.metadata,
  created_at: row.created_at.toISOString(),
})

const linkDigest = (before: Buffer, seq: number, content: Content): Buffer => {
  const { org_id, id, action, resource_type, resource_id, metadata, created_at } = content
  const fields = [seq, org_id, id, action, resource_type, resource_id, metadata, created_at]
  // Field by field, so that metadata may nest as deeply here as where it was signed.
  return createHash('sha256')
    .update(before)
    .update(`[${fields.map(canonicalJson).join(',')}]`)
    .digest()
}

/** An end of the chain under the secret: without it nobody can pass a shorter chain off as the whole. */
export const signEnd = (
  secret: string | undefined,
  end: 'head' | 'pruned',
  orgId: string,
  seq: number,
  digest: Buffer,
) =>
  secret === undefined
    ? null
    : createHmac('sha256', secret)
        .update(JSON.stringify([end, orgId, seq, digest.toString('hex')]))
        .digest('hex')

export type ChainReport = {
  org_id: string
  checked: number
  /** Entries that are linked, or wait to be, but are gone, by id. */
  missing: string[]
  /** Links that do not follow from the one before and their entry, or stand past the head, by sequence number. */
  broken: number[]
  /** Entries that were never linked nor wait to be, by id. */
  stray: string[]
  head: EndVerdict | 'cut_off'
  pruned: EndVerdict
  waiting: number
}

/**
 * `none` where there is no such end yet, `unsigned` while no secret is configured. `stripped` is an end without a
 * signature where there should be one: it was taken off, or written before the secret was set.
 */
type EndVerdict = 'none' | 'ok' | 'unsigned' | 'stripped' | 'invalid'

export const isWhole = ({ missing, broken, stray, head, pruned }: ChainReport): boolean =>
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
  /** Links what is waiting, the orgs taking turns; returns how many entries. */
  link(): Promise<number>
  /** Walks an org's whole chain in pages, while it may grow; at most 100 findings of each kind. */
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
        headSignature: signEnd(secret, 'head', orgId, seq, digest),
        at,
      })
      // Kept outside the database too, where whoever can rewrite it cannot reach.
      log.info({ org_id: orgId, seq, digest: digest.toString('hex') }, 'audit chain grew')
      return links.length
    })

  const endVerdict = (
    end: 'head' | 'pruned',
    orgId: string,
    { seq, digest, signature }: { seq: number; digest: Buffer; signature: string | null },
  ): EndVerdict => {
    const expected = signEnd(secret, end, orgId, seq, digest)
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
        : endVerdict('head', orgId, { seq: head_seq, digest: head_digest, signature: head_signature })
    const pruned =
      pruned_digest === null
        ? 'none'
        : endVerdict('pruned', orgId, { seq: pruned_seq, digest: pruned_digest, signature: pruned_signature })
    return { head, pruned } as const
  }

  /** From the pruned end to the head as they stood when the chain was read; what is linked meanwhile comes after. */
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
        if (!entry && walked.missing.length < mostFindings) walked.missing.push(entry_id)
        const content = entry as unknown as Content | null
        const follows = seq === last.seq + 1 && (!content || linkDigest(last.digest, seq, content).equals(digest))
        if (!follows && walked.broken.length < mostFindings) walked.broken.push(seq)
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
          // A chain that was meddled with must not stop those of other orgs.
          log.error({ err: error, org_id }, 'audit entries of an org could not be linked')
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
        // Retention took links from under the walk: what looks broken is only gone.
        if (after?.pruned_seq !== chain.pruned_seq) continue
        const lost = await db.rows(lostEntries, { orgId, limit: mostFindings })
        const stray = await db.rows(strayEntries, { orgId, limit: mostFindings })
        return {
          org_id: orgId,
          checked,
          missing: [...missing, ...lost.map((row) => row.entry_id)].slice(0, mostFindings),
          broken: [...broken, ...(chain.past_head ?? [])].slice(0, mostFindings),
          stray: stray.map((row) => row.id),
          ...verifyEnds(orgId, chain, last),
          waiting: (await db.row(countUnlinked, { orgId }))?.n ?? 0,
        }
      }
    },
  }
}
