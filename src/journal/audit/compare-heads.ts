/** Compares heads that were kept elsewhere with the chains in the database. */
import type { Db } from '../../platform/db/pool.ts'
import { endStatus } from './chain-ends.ts'
import type { AuditNeeds, AuditSecrets } from './judge-entry.ts'
import { registerName } from './register.ts'
import { linksOfHeads, registerRowsOfHeads } from './store/witness-rows.ts'
import type { WitnessedHead, WitnessLine } from './witness.ts'

const batch = 1_000
const maxFindings = 100

export const noFindings = () => ({
  /** The number of heads that were compared. */
  compared: 0,
  /** Sequence numbers of heads that the chain does not contain: it was set back, rewritten or deleted. */
  rolled_back: [] as number[],
  /** Lines that name this chain but are not signed with the secret. */
  forged_lines: [] as number[],
})

type HeadFindings = ReturnType<typeof noFindings>

export const isSignedHead = (secrets: AuditSecrets, { org_id, seq, digest, signature }: WitnessedHead): boolean => {
  const kinds = org_id === registerName ? (['register'] as const) : (['registered', 'head'] as const)
  const end = { orgId: org_id, seq, digest: Buffer.from(digest, 'hex') }
  return kinds.some((kind) => endStatus(secrets, { ...end, end: kind }, signature) === 'ok')
}

/** Whether each head is still part of its chain. What retention removed counts as part of it. */
const areInChains = async (db: Db, heads: WitnessedHead[]): Promise<boolean[]> => {
  const rows = await db.rows(linksOfHeads, {
    orgIds: heads.map((head) => head.org_id),
    seqs: heads.map((head) => head.seq),
  })
  return heads.map(({ seq, digest }, i) => {
    const { digest: linked, pruned_seq, pruned_digest } = rows[i] as (typeof rows)[number]
    if (linked) return linked.toString('hex') === digest
    if (pruned_seq === null || pruned_digest === null || seq > pruned_seq) return false
    return seq < pruned_seq || pruned_digest.toString('hex') === digest
  })
}

const areInRegister = async (db: Db, heads: WitnessedHead[]): Promise<boolean[]> => {
  const rows = await db.rows(registerRowsOfHeads, { seqs: heads.map((head) => head.seq) })
  const digests = new Map(rows.map(({ seq, digest }) => [seq, digest.toString('hex')]))
  return heads.map(({ seq, digest }) => digests.get(seq) === digest)
}

/** Reads all lines, of `orgId` and the register only if it is given. Holds no more than a batch of heads at a time. */
export const compareHeads = async (
  { db, secrets }: Pick<AuditNeeds, 'db' | 'secrets'>,
  lines: AsyncIterable<WitnessLine> | Iterable<WitnessLine>,
  orgId?: string,
) => {
  /** By org, and by `register`. */
  const findings = new Map<string, HeadFindings>()
  const findingsOf = (name: string): HeadFindings => {
    const known = findings.get(name) ?? noFindings()
    findings.set(name, known)
    return known
  }
  const compare = async (heads: WitnessedHead[], find: typeof areInChains): Promise<void> => {
    if (heads.length === 0) return
    const found = await find(db, heads)
    heads.forEach(({ org_id, seq }, i) => {
      const { rolled_back } = findingsOf(org_id)
      findingsOf(org_id).compared++
      if (!found[i] && rolled_back.length < maxFindings) rolled_back.push(seq)
    })
  }
  /** Lines that are not heads. */
  let unreadable = 0
  let heads: WitnessedHead[] = []
  const compareAll = async (): Promise<void> => {
    await compare(
      heads.filter((head) => head.org_id !== registerName),
      areInChains,
    )
    await compare(
      heads.filter((head) => head.org_id === registerName),
      areInRegister,
    )
    heads = []
  }
  for await (const { line, head } of lines) {
    if (!head) unreadable++
    else if (orgId !== undefined && head.org_id !== orgId && head.org_id !== registerName) continue
    else if (isSignedHead(secrets, head)) heads.push(head)
    else if (findingsOf(head.org_id).forged_lines.length < maxFindings) findingsOf(head.org_id).forged_lines.push(line)
    if (heads.length === batch) await compareAll()
  }
  await compareAll()
  return { findings, unreadable }
}

export type ComparedHeads = Awaited<ReturnType<typeof compareHeads>>
