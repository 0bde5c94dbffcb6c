/**
 * Verifies an org's chain a page at a time, newest link first, so that no request walks the whole log. Each page also
 * covers the range of time of its entries, in which every entry must be linked or in the queue. The first page has the
 * queue and both ends as well.
 */
import { timeOfId } from '../../platform/ground/ids.ts'
import { headStatus, prunedStatus } from './chain-ends.ts'
import type { AuditNeeds } from './judge-entry.ts'
import {
  type ChainRow,
  countUnlinked,
  entriesToLink,
  type FoundChain,
  findChain,
  type LinkedEntry,
  queuedAgain,
  readLinksDown,
  strayEntriesBetween,
} from './store/chain-rows.ts'
import {
  type CheckedLinks,
  checkLink,
  checkQueue,
  type EntryFindings,
  isSound,
  makeJudgeInto,
  maxFindings,
  noEntryFindings,
  noteFinding,
  prunedEnd,
} from './verify-chain.ts'

/** Where the next page starts: its newest link, and the time before which its entries were created. */
export type ChainPosition = { seq: number; before: Date }

type ChainPage = CheckedLinks & { next: ChainPosition | undefined }

/** When the oldest entry of the page was made, and no later than the page before. */
const oldestOf = (links: LinkedEntry[], before: Date | undefined): Date => {
  const times = links.map((link) => timeOfId(link.entry_id)).filter(Number.isFinite)
  return new Date(Math.min(before?.getTime() ?? Number.MAX_SAFE_INTEGER, ...times))
}

export const makeVerifyChainPage = ({ db, clock, log, secrets, cutover }: AuditNeeds) => {
  const judgeInto = makeJudgeInto({ clock, secrets, cutover })

  /** `links` are newest first, with the link before the page, if there is one, at the end. */
  const checkLinks = (chain: ChainRow, links: LinkedEntry[], limit: number, findings: EntryFindings): void => {
    for (const [i, link] of links.slice(0, limit).entries()) {
      const previous = links[i + 1] ?? prunedEnd(chain)
      checkLink({ findings, previous, link }, (entry) => judgeInto(findings, entry, false))
    }
  }

  const judgeQueue = async (orgId: string, chain: FoundChain, findings: EntryFindings): Promise<void> => {
    for (const entry of await db.rows(entriesToLink, { orgId, skip: 0, limit: 1_000 })) judgeInto(findings, entry, true)
    await checkQueue(db, orgId, chain, findings)
    for (const { id } of await db.rows(queuedAgain, { orgId, limit: maxFindings })) noteFinding(findings, 'stray', id)
  }

  const pageOnce = async (
    orgId: string,
    limit: number,
    position: ChainPosition | undefined,
  ): Promise<ChainPage | undefined> => {
    const findings = noEntryFindings()
    const chain = (await db.row(findChain, { orgId })) as FoundChain
    const lastSeq = position?.seq ?? chain.head_seq
    const links = await db.rows(readLinksDown, { orgId, lastSeq, limit: limit + 1 })
    checkLinks(chain, links, limit, findings)
    const shown = links.slice(0, limit)
    const more = links[limit]
    const from = more ? oldestOf(shown, position?.before) : null
    const until = position ? new Date(position.before.getTime() - 1) : null
    const range = { orgId, from, until, limit: maxFindings }
    for (const { id } of await db.rows(strayEntriesBetween, range)) noteFinding(findings, 'stray', id)
    if (!position) await judgeQueue(orgId, chain, findings)
    const after = await db.row(findChain, { orgId })
    // Retention removed links meanwhile, so the findings may be wrong.
    if (after?.pruned_seq !== chain.pruned_seq) return undefined
    const newest = shown[0] ?? prunedEnd(chain)
    const reached = position || (newest.seq === chain.head_seq && newest.digest.equals(chain.head_digest))
    return {
      checked: shown.length,
      ...findings,
      head: reached ? headStatus(secrets, orgId, chain) : 'cut_off',
      pruned: prunedStatus(secrets, orgId, chain),
      waiting: (await db.row(countUnlinked, { orgId }))?.n ?? 0,
      next: more && from ? { seq: more.seq, before: from } : undefined,
    }
  }

  /** Reports at most 100 findings per kind. */
  return async (orgId: string, limit: number, position?: ChainPosition): Promise<ChainPage> => {
    for (;;) {
      const page = await pageOnce(orgId, limit, position)
      if (!page) continue
      if (!isSound(page, [page.head, page.pruned])) {
        const { next: _, ...found } = page
        log.error({ org_id: orgId, ...found }, 'audit chain is not intact')
      }
      return page
    }
  }
}

export type VerifyChainPage = ReturnType<typeof makeVerifyChainPage>
