import { byOrg } from '../../platform/db/by-org.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { timeOfId } from '../../platform/ground/ids.ts'
import { dayMs } from '../../platform/ground/units.ts'
import { type ArchiveDay, utcDay } from './archive-day.ts'
import { digestMatches, faultOfEnds, signEnd } from './chain-ends.ts'
import { type AuditNeeds, makeIsOfSecrets, makeJudgeEntry } from './judge-entry.ts'
import { type ChainRow, type LinkedEntry, type LinkRow, lockChain } from './store/chain-rows.ts'
import { type EntryRow, permitChanges } from './store/entry-rows.ts'
import { deleteEntries, oldestEntries, oldestLinks, setPrunedEnd, trustDecisions } from './store/prune-rows.ts'
import { makeUnverifiedChains, type UnverifiedChains } from './unverified-chains.ts'

const chunk = 5_000

type Needs = AuditNeeds & {
  days: number
  /** Undefined: entries are deleted without an archive. */
  archive?: ArchiveDay | undefined
  unverified?: UnverifiedChains
}

const maxDecisions = 20
const ofUnknownSecret = 'an expired entry has no signature of a configured secret'

/** The days whose entries may be removed. Undefined: all. */
type Days = ReadonlySet<string> | undefined

const dayOf = (entryId: string): string => utcDay(timeOfId(entryId))

/** The age of an entry is the time in its id, which cannot be changed without breaking the chain. */
const isExpired = (entryId: string, before: Date): boolean => timeOfId(entryId) < before.getTime()

export const makePruneAudit = (needs: Needs) => {
  const { db, clock, log, secrets, cutover, days, archive, unverified = makeUnverifiedChains(needs) } = needs
  const judge = makeJudgeEntry({ secrets, cutover })
  const isOfSecrets = makeIsOfSecrets(secrets)

  /** Why a link must be kept although it has expired: it is evidence. */
  const faultOf = (previous: { seq: number; digest: Buffer }, link: LinkedEntry): string | undefined => {
    if (link.id === null) return 'missing'
    const entry: EntryRow = link
    const follows = link.seq === previous.seq + 1 && digestMatches(previous.digest, link.seq, entry, link.digest)
    if (!follows) return 'broken'
    const verdict = judge(entry)
    if (verdict === 'misdated') return verdict
    if (verdict !== 'invalid' && verdict !== 'stripped') return undefined
    return isOfSecrets(entry.id) ? verdict : ofUnknownSecret
  }

  /** The number of the newest link that an operator trusted, or 0. The decision is an entry that must verify itself. */
  const lastTrusted = async (tx: Tx, orgId: string): Promise<number> => {
    const decisions = await tx.rows(trustDecisions, { orgId, limit: maxDecisions })
    const seqs = decisions.filter((entry) => judge(entry) === 'ok').map(({ metadata }) => metadata?.seq)
    return Math.max(0, ...seqs.filter((seq) => typeof seq === 'number'))
  }

  type Expired = { orgId: string; chain: ChainRow; links: LinkedEntry[]; before: Date; archived: Days }

  /** The links before the first one that is kept, because it has not expired or because it does not verify. */
  const removable = async (tx: Tx, { orgId, chain, links, before, archived }: Expired): Promise<LinkRow[]> => {
    const found: LinkRow[] = []
    let trusted: number | undefined
    let kept: string | undefined
    let previous = { seq: chain.pruned_seq, digest: chain.pruned_digest ?? Buffer.alloc(0) }
    for (const link of links) {
      if (!isExpired(link.entry_id, before)) break
      if (archived && !archived.has(dayOf(link.entry_id))) break
      const fault = faultOf(previous, link)
      if (fault === ofUnknownSecret) {
        trusted ??= await lastTrusted(tx, orgId)
        if (link.seq > trusted) kept = fault
      } else if (fault !== undefined) {
        log.error({ org_id: orgId, entry_id: link.entry_id, fault }, 'audit retention stopped')
        break
      }
      if (kept !== undefined) break
      found.push(link)
      previous = link
    }
    unverified.noteEntries(orgId, kept)
    return found
  }

  const nextLinks = async (tx: Tx, orgId: string, before: Date, archived?: Days): Promise<LinkRow[]> => {
    // While entries are being linked, the chain is locked. The next run prunes it.
    const chain = await tx.row(lockChain, { orgId })
    if (!chain) return []
    const fault = faultOfEnds(secrets, orgId, chain)
    unverified.noteEnds(orgId, fault)
    if (fault !== undefined) return []
    const links = await tx.rows(oldestLinks, { orgId, limit: chunk })
    return removable(tx, { orgId, chain, links, before, archived })
  }

  const pruneChunk = (orgId: string, before: Date, archived: Days): Promise<number> =>
    db.tx(async (tx) => {
      const links = await nextLinks(tx, orgId, before, archived)
      const last = links.at(-1)
      if (!last) return 0
      await tx.row(permitChanges, { path: 'retention' })
      await tx.change(deleteEntries, { orgId, entryIds: links.map((link) => link.entry_id) })
      const { seq, digest } = last
      const signature = signEnd(secrets[0], { end: 'pruned', orgId, seq, digest })
      await tx.change(setPrunedEnd, { orgId, seq, digest, signature, at: clock.now() })
      return links.length
    })

  /** Adds the days of the entries that are next. Returns false if the archive fails: then the entries stay. */
  const archiveNext = async (orgId: string, before: Date, archived: Set<string>): Promise<boolean> => {
    const next = await db.tx((tx) => nextLinks(tx, orgId, before))
    for (const day of new Set(next.map((link) => dayOf(link.entry_id)))) {
      if (archived.has(day)) continue
      try {
        await archive?.(orgId, day)
      } catch (error) {
        log.error({ err: error, org_id: orgId, day }, 'audit archive failed')
        return false
      }
      archived.add(day)
    }
    return true
  }

  const pruneOrg = async (orgId: string, before: Date): Promise<number> => {
    const archived = archive && new Set<string>()
    for (let total = 0; ; ) {
      if (archived && !(await archiveNext(orgId, before, archived))) return total
      const pruned = await pruneChunk(orgId, before, archived)
      total += pruned
      if (pruned < chunk) return total
    }
  }

  /** Removes entries older than the retention period from the old end of each chain. Returns how many. */
  return async (): Promise<number> => {
    const oldest = clock.millis() - days * dayMs
    // A file of the archive has a whole day.
    const before = new Date(archive ? Math.floor(oldest / dayMs) * dayMs : oldest)
    let total = 0
    for await (const { org_id, entry_id } of byOrg(db, oldestEntries, chunk)) {
      if (entry_id !== null && isExpired(entry_id, before)) total += await pruneOrg(org_id, before)
    }
    unverified.tell()
    return total
  }
}
