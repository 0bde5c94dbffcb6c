/** Links waiting entries into the chain of their org. Only entries that verify are linked. */
import { byOrg } from '../../platform/db/by-org.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { faultOfEnds, linkDigest, signEnd } from './chain-ends.ts'
import { type AuditNeeds, type EntryVerdict, makeJudgeEntry } from './judge-entry.ts'
import { registerName, registerOrg } from './register.ts'
import { beginChain, entriesToLink, insertLinks, lockChain, orgsToLink, type WaitingEntry } from './store/chain-rows.ts'
import type { UnverifiedChains } from './unverified-chains.ts'
import type { Witness, WitnessedHead } from './witness.ts'

const chunk = 1_000
/** Refused entries are logged once per process. The set is emptied when it reaches this size. */
const maxRemembered = 10_000

/** `unverified` is shared by everything in the process that looks at chains. */
export type LinkNeeds = AuditNeeds & { witness?: Witness | undefined; unverified: UnverifiedChains }

/** This process may not extend the chain. */
class UnverifiedChainFault extends Error {}

type Refused = { id: string; verdict: EntryVerdict }

/**
 * Whether an entry may be linked. An entry without a signature may be linked only until the cutover: later, an id with
 * an earlier time would be enough to forge one.
 */
export const makeIsLinkable =
  ({ secrets, cutover, clock }: Pick<AuditNeeds, 'secrets' | 'cutover' | 'clock'>) =>
  (verdict: EntryVerdict): boolean =>
    secrets.length === 0 || verdict === 'ok' || (verdict === 'unsigned' && clock.now() < cutover)

export const makeLinkEntries = ({ db, clock, log, secrets, cutover, witness, unverified }: LinkNeeds) => {
  const judge = makeJudgeEntry({ secrets, cutover })
  const isLinkable = makeIsLinkable({ secrets, cutover, clock })
  const logged = new Set<string>()

  const logRefused = (orgId: string, refused: Refused[]): void => {
    if (logged.size > maxRemembered) logged.clear()
    const news = refused.filter(({ id }) => !logged.has(`${orgId} ${id}`))
    if (news.length === 0) return
    for (const { id } of news) logged.add(`${orgId} ${id}`)
    log.error({ org_id: orgId, count: news.length, entries: news.slice(0, 20) }, 'audit entries not linked')
  }

  /** The next entries that verify. Entries that do not are skipped, however many there are. */
  const verifiedEntries = async (tx: Tx, orgId: string): Promise<{ entries: WaitingEntry[]; more: boolean }> => {
    const refused: Refused[] = []
    for (;;) {
      const waiting = await tx.rows(entriesToLink, { orgId, skip: refused.length, limit: chunk })
      const judged = waiting.map((entry) => ({ entry, verdict: judge(entry) }))
      const linkable = judged.filter(({ verdict }) => isLinkable(verdict))
      for (const { entry, verdict } of judged) if (!isLinkable(verdict)) refused.push({ id: entry.id, verdict })
      const more = waiting.length === chunk
      if (linkable.length > 0 || !more) {
        logRefused(orgId, refused)
        return { entries: linkable.map(({ entry }) => entry), more }
      }
    }
  }

  type From = { seq: number; digest: Buffer; end: 'head' | 'registered' }

  const insertAll = async (tx: Tx, orgId: string, entries: WaitingEntry[], { end, ...from }: From) => {
    let { seq, digest } = from
    const links = entries.map((entry) => {
      digest = linkDigest(digest, ++seq, entry)
      return { seq, entryId: entry.id, digest }
    })
    const signature = signEnd(secrets[0], { end, orgId, seq, digest })
    await tx.change(insertLinks, {
      orgId,
      seqs: links.map((link) => link.seq),
      entryIds: links.map((link) => link.entryId),
      queuedAt: entries.map((entry) => entry.queued_at),
      digests: links.map((link) => link.digest),
      headSeq: seq,
      headDigest: digest,
      headSignature: signature,
      at: clock.now(),
    })
    return { org_id: orgId, seq, digest: digest.toString('hex'), signature }
  }

  /**
   * Returns the new head of the register, or nothing if the register cannot be verified. The chain then begins without
   * it, as those of earlier releases did. Without a secret it does not begin: it would be unsigned for good.
   */
  const register = async (tx: Tx, orgId: string): Promise<WitnessedHead | undefined> => {
    const added = await registerOrg(tx, secrets, orgId, clock.now())
    if ('head' in added) return added.head
    if (secrets.length === 0) throw new UnverifiedChainFault(added.fault)
    unverified.noteEnds(registerName, added.fault)
    return undefined
  }

  /** Returns the new head, or nothing if no entry was linked. */
  const extend = (orgId: string) =>
    db.tx(async (tx) => {
      await tx.change(beginChain, { orgId, at: clock.now() })
      const chain = await tx.row(lockChain, { orgId })
      if (!chain) return undefined
      const fault = faultOfEnds(secrets, orgId, chain)
      if (fault !== undefined) throw new UnverifiedChainFault(fault)
      const { entries, more } = await verifiedEntries(tx, orgId)
      if (entries.length === 0) return undefined
      const added = chain.registered ? undefined : await register(tx, orgId)
      const end = chain.registered || added ? 'registered' : 'head'
      const head = await insertAll(tx, orgId, entries, { seq: chain.head_seq, digest: chain.head_digest, end })
      return { head, register: added, linked: entries.length, more }
    })

  const linkOrg = async (orgId: string): Promise<{ linked: number; more: boolean }> => {
    try {
      const extended = await extend(orgId)
      unverified.noteEnds(orgId, undefined)
      if (!extended) return { linked: 0, more: false }
      const { org_id, seq, digest } = extended.head
      // The head is also logged, so that someone who can rewrite the database cannot rewrite every copy of it.
      log.info({ org_id, seq, digest }, 'audit chain extended')
      witness?.note(extended.head)
      if (extended.register) witness?.note(extended.register)
      return extended
    } catch (error) {
      // A chain that was tampered with must not block the chains of other orgs.
      if (error instanceof UnverifiedChainFault) unverified.noteEnds(orgId, error.message)
      else log.error({ err: error, org_id: orgId }, 'audit chain linking failed')
      return { linked: 0, more: false }
    }
  }

  const linkTurn = async (): Promise<{ linked: number; more: boolean }> => {
    const turn = { linked: 0, more: false }
    for await (const { org_id } of byOrg(db, orgsToLink, chunk)) {
      const { linked, more } = await linkOrg(org_id)
      turn.linked += linked
      turn.more ||= more
    }
    return turn
  }

  /** Links all waiting entries, a chunk per org in turn. Returns how many were linked. */
  return async (): Promise<number> => {
    for (let total = 0; ; ) {
      const { linked, more } = await linkTurn()
      total += linked
      if (!more) {
        await unverified.surveyNews()
        await witness?.flushDue()
        return total
      }
    }
  }
}
