/** Verifies the whole audit log of an org: every entry, every link, both ends, and the entries that wait. */
import type { Db } from '../../platform/db/pool.ts'
import { timeOfId } from '../../platform/ground/ids.ts'
import { digestMatches, type EndStatus, type HeadStatus, headStatus, prunedStatus } from './chain-ends.ts'
import { type AuditNeeds, makeJudgeEntry } from './judge-entry.ts'
import { makeIsLinkable } from './link-entries.ts'
import { type RegisterStatus, verifyRegister } from './register.ts'
import {
  type ChainRow,
  countUnlinked,
  entriesToLink,
  type FoundChain,
  findChain,
  type LinkedEntry,
  lostEntries,
  readLinks,
  strayEntries,
} from './store/chain-rows.ts'
import type { EntryRow } from './store/entry-rows.ts'

const chunk = 1_000
export const maxFindings = 100

/** Ids of entries, by what is wrong with them. */
export const noEntryFindings = () => ({
  /** Linked or waiting to be linked, but no longer there. */
  missing: [] as string[],
  /** Their links do not match the entry and the previous link, or come after the head. */
  broken: [] as string[],
  /** Their content does not match their signature or their seal. */
  invalid: [] as string[],
  /** They have no signature or no seal, but must have one. */
  stripped: [] as string[],
  /** `created_at` disagrees with the time in the id. */
  misdated: [] as string[],
  /** Neither linked nor waiting to be linked, or both. */
  stray: [] as string[],
})

export type EntryFindings = ReturnType<typeof noEntryFindings>
export const findingNames = Object.keys(noEntryFindings()) as (keyof EntryFindings)[]

export type CheckedLinks = EntryFindings & {
  /** The number of links that were checked. */
  checked: number
  head: HeadStatus | 'cut_off'
  pruned: EndStatus
  /** The number of entries that are waiting to be linked. */
  waiting: number
}

export type ChainReport = CheckedLinks & { org_id: string; register: RegisterStatus }

/** Whether nothing was found in the entries, and all of these ends are sound. */
export const isSound = (findings: EntryFindings, ends: string[]): boolean =>
  findingNames.every((name) => findings[name].length === 0) &&
  ends.every((end) => ['none', 'ok', 'unsigned'].includes(end))

export const isIntact = (report: ChainReport): boolean => isSound(report, [report.head, report.pruned, report.register])

type ChainLink = { seq: number; digest: Buffer }
type Walked = { checked: number; last: ChainLink; findings: EntryFindings }

export const prunedEnd = ({ pruned_seq: seq, pruned_digest }: ChainRow): ChainLink => ({
  seq,
  digest: pruned_digest ?? Buffer.alloc(0),
})

type VerifyOptions = {
  /** Signatures and seals of entries before this time are not judged, for example those of a former secret. */
  createdAfter?: Date | undefined
  /** The status of the register, if it is known already. */
  register?: RegisterStatus
}

export const noteFinding = (findings: EntryFindings, kind: keyof EntryFindings, id: string): void => {
  if (findings[kind].length < maxFindings && !findings[kind].includes(id)) findings[kind].push(id)
}

const isPresent = (row: LinkedEntry): row is LinkedEntry & EntryRow => row.id !== null

type CheckedLink = { findings: EntryFindings; previous: ChainLink; link: LinkedEntry }

/** Notes what is wrong with a link and its entry. */
export const checkLink = ({ findings, previous, link }: CheckedLink, judge: (entry: EntryRow) => void): void => {
  if (isPresent(link)) judge(link)
  else noteFinding(findings, 'missing', link.entry_id)
  const matches = !isPresent(link) || digestMatches(previous.digest, link.seq, link, link.digest)
  if (link.seq !== previous.seq + 1 || !matches) noteFinding(findings, 'broken', link.entry_id)
}

/** Notes what the queue lacks, and links past the head. */
export const checkQueue = async (db: Db, orgId: string, chain: FoundChain, findings: EntryFindings): Promise<void> => {
  for (const id of chain.past_head ?? []) noteFinding(findings, 'broken', id)
  for (const { entry_id } of await db.rows(lostEntries, { orgId, limit: maxFindings })) {
    noteFinding(findings, 'missing', entry_id)
  }
}

/** Notes what is wrong with an entry. `waits`: it is in the queue, so it must also be fit to be linked. */
export const makeJudgeInto = ({ clock, secrets, cutover }: Pick<AuditNeeds, 'clock' | 'secrets' | 'cutover'>) => {
  const judgeEntry = makeJudgeEntry({ secrets, cutover })
  const isLinkable = makeIsLinkable({ secrets, cutover, clock })
  return (findings: EntryFindings, row: EntryRow, waits: boolean): void => {
    const verdict = judgeEntry(row)
    if (verdict === 'invalid' || verdict === 'stripped' || verdict === 'misdated')
      noteFinding(findings, verdict, row.id)
    // The rest cannot be linked either, but is no finding in an entry that was linked before.
    else if (waits && !isLinkable(verdict)) noteFinding(findings, 'stripped', row.id)
    // Written by the process that wrote the lost entry: see watch-written.ts.
    else if (row.action === 'audit.entry_lost') noteFinding(findings, 'missing', row.resource_id ?? row.id)
  }
}

export const makeVerifyChain = ({ db, clock, secrets, cutover }: AuditNeeds) => {
  const judgeInto = makeJudgeInto({ clock, secrets, cutover })

  const judge = (findings: EntryFindings, row: EntryRow, { createdAfter }: VerifyOptions, waits: boolean): void => {
    if (createdAfter && timeOfId(row.id) < createdAfter.getTime()) return
    judgeInto(findings, row, waits)
  }

  /** Checks the links from the pruned end up to the head in `chain`. Links added since then are not included. */
  const walk = async (orgId: string, chain: ChainRow, options: VerifyOptions): Promise<Walked> => {
    const findings = noEntryFindings()
    let last = prunedEnd(chain)
    for (let checked = 0; ; ) {
      const position = { orgId, afterSeq: last.seq, lastSeq: chain.head_seq, limit: chunk }
      const links = await db.rows(readLinks, position)
      for (const link of links) {
        checked++
        checkLink({ findings, previous: last, link }, (entry) => judge(findings, entry, options, false))
        last = link
      }
      if (links.length < chunk) return { checked, last, findings }
    }
  }

  const judgeWaiting = async (orgId: string, findings: EntryFindings, options: VerifyOptions): Promise<void> => {
    for (let skip = 0; ; skip += chunk) {
      const entries = await db.rows(entriesToLink, { orgId, skip, limit: chunk })
      for (const entry of entries) judge(findings, entry, options, true)
      if (entries.length < chunk) return
    }
  }

  const verifyOnce = async (orgId: string, options: VerifyOptions): Promise<ChainReport | undefined> => {
    const chain = (await db.row(findChain, { orgId })) as FoundChain
    const { checked, last, findings } = await walk(orgId, chain, options)
    await judgeWaiting(orgId, findings, options)
    const after = await db.row(findChain, { orgId })
    // Retention removed links during the walk, so the findings may be wrong.
    if (after?.pruned_seq !== chain.pruned_seq) return undefined
    await checkQueue(db, orgId, chain, findings)
    for (const row of await db.rows(strayEntries, { orgId, limit: maxFindings })) noteFinding(findings, 'stray', row.id)
    const reached = last.seq === chain.head_seq && last.digest.equals(chain.head_digest)
    return {
      org_id: orgId,
      checked,
      ...findings,
      head: reached ? headStatus(secrets, orgId, chain) : 'cut_off',
      pruned: prunedStatus(secrets, orgId, chain),
      register: options.register ?? (await verifyRegister(db, secrets)),
      waiting: (await db.row(countUnlinked, { orgId }))?.n ?? 0,
    }
  }

  /** Checks in pages. The chain may grow during the check. Reports at most 100 findings per kind. */
  return async (orgId: string, options: VerifyOptions = {}): Promise<ChainReport> => {
    for (;;) {
      const report = await verifyOnce(orgId, options)
      if (report) return report
    }
  }
}
