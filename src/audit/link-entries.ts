/** Links waiting entries into the chain of their org. Only entries that verify are linked. */
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import type { Log } from '../ground/log.ts'
import { faultOfEnds, linkDigest, signEnd } from './chain-ends.ts'
import { type AuditSecrets, type EntryVerdict, makeJudgeEntry } from './judge-entry.ts'
import { registerOrg } from './register.ts'
import { beginChain, entriesToLink, insertLinks, lockChain, orgsToLink } from './store/chain-rows.ts'
import type { EntryRow } from './store.ts'
import type { Witness } from './witness.ts'

const chunk = 1_000
/** Refused entries are logged once per process. The set is emptied when it reaches this size. */
const maxRemembered = 10_000

export type LinkNeeds = {
  db: Db
  clock: Clock
  log: Log
  secrets: AuditSecrets
  cutover: Date
  witness?: Witness | undefined
}

type Refused = { id: string; verdict: EntryVerdict }

/**
 * Whether an entry may be linked. An entry without a signature may be linked only until the cutover: later, an id with
 * an earlier time would be enough to forge one.
 */
export const makeIsLinkable =
  ({ secrets, cutover, clock }: Pick<LinkNeeds, 'secrets' | 'cutover' | 'clock'>) =>
  (verdict: EntryVerdict): boolean =>
    secrets.length === 0 || verdict === 'ok' || (verdict === 'unsigned' && clock.now() < cutover)

export const makeLinkEntries = ({ db, clock, log, secrets, cutover, witness }: LinkNeeds) => {
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
  const verifiedEntries = async (tx: Tx, orgId: string): Promise<{ entries: EntryRow[]; more: boolean }> => {
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

  const insertAll = async (tx: Tx, orgId: string, entries: EntryRow[], from: { seq: number; digest: Buffer }) => {
    let { seq, digest } = from
    const links = entries.map((entry) => {
      digest = linkDigest(digest, ++seq, entry)
      return { seq, entryId: entry.id, digest }
    })
    const signature = signEnd(secrets[0], { end: 'registered', orgId, seq, digest })
    await tx.change(insertLinks, {
      orgId,
      seqs: links.map((link) => link.seq),
      entryIds: links.map((link) => link.entryId),
      digests: links.map((link) => link.digest),
      headSignature: signature,
      at: clock.now(),
    })
    return { org_id: orgId, seq, digest: digest.toString('hex'), signature }
  }

  /** Returns the new head, or nothing if no entry was linked. */
  const extend = (orgId: string) =>
    db.tx(async (tx) => {
      await tx.change(beginChain, { orgId, at: clock.now() })
      const chain = await tx.row(lockChain, { orgId })
      if (!chain) return undefined
      const fault = faultOfEnds(secrets, orgId, chain)
      if (fault !== undefined) throw new Error(fault)
      const { entries, more } = await verifiedEntries(tx, orgId)
      if (entries.length === 0) return undefined
      const register = chain.registered ? undefined : await registerOrg(tx, secrets, orgId, clock.now())
      const head = await insertAll(tx, orgId, entries, { seq: chain.head_seq, digest: chain.head_digest })
      return { head, register, linked: entries.length, more }
    })

  const linkOrg = async (orgId: string): Promise<{ linked: number; more: boolean }> => {
    try {
      const extended = await extend(orgId)
      if (!extended) return { linked: 0, more: false }
      const { org_id, seq, digest } = extended.head
      // The head is also logged, so that someone who can rewrite the database cannot rewrite every copy of it.
      log.info({ org_id, seq, digest }, 'audit chain extended')
      witness?.note(extended.head)
      if (extended.register) witness?.note(extended.register)
      return extended
    } catch (error) {
      // A chain that was tampered with must not block the chains of other orgs.
      log.error({ err: error, org_id: orgId }, 'audit chain linking failed')
      return { linked: 0, more: false }
    }
  }

  const linkTurn = async (): Promise<{ linked: number; more: boolean }> => {
    const turn = { linked: 0, more: false }
    for (let after = ''; ; ) {
      const orgs = await db.rows(orgsToLink, { afterOrgId: after, limit: chunk })
      for (const { org_id } of orgs) {
        const { linked, more } = await linkOrg(org_id)
        turn.linked += linked
        turn.more ||= more
        after = org_id
      }
      if (orgs.length < chunk) return turn
    }
  }

  /** Links all waiting entries, a chunk per org in turn. Returns how many were linked. */
  return async (): Promise<number> => {
    for (let total = 0; ; ) {
      const { linked, more } = await linkTurn()
      total += linked
      if (!more) {
        await witness?.flushDue()
        return total
      }
    }
  }
}
