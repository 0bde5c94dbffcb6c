/** `tidings ops audit …`: verifying the audit log, keeping copies of its heads, and trusting its ends. */
import { type ComparedHeads, compareHeads, isSignedHead, noFindings } from '../../journal/audit/compare-heads.ts'
import { readWitness } from '../../journal/audit/open-witness.ts'
import { registerName, verifyRegister } from '../../journal/audit/register.ts'
import { findChain, type OrgHead, orgsWithLogs } from '../../journal/audit/store/chain-rows.ts'
import { findRegister } from '../../journal/audit/store/register-rows.ts'
import { headsAfter } from '../../journal/audit/store/witness-rows.ts'
import { makeTrustEnds } from '../../journal/audit/trust-ends.ts'
import { type ChainReport, isIntact } from '../../journal/audit/verify-chain.ts'
import { headToken, parseHeadToken, type WitnessedHead, type WitnessLine } from '../../journal/audit/witness.ts'
import { byOrg } from '../../platform/db/by-org.ts'
import { fileOrObjects } from '../../platform/ground/config/accepted-values.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { asLines, type Context, existing, optionText, print, required } from './ops-context.ts'

const page = 1_000

const requireSecret = ({ config }: Context): void => {
  if (config.auditSecrets.length > 0) return
  throw new OperatorFault(
    'AUDIT_SIGNING_SECRET is not set, so the audit log cannot be verified. This does not mean that the log is intact. Set AUDIT_SIGNING_SECRET to the secret that the service uses.',
  )
}

const createdAfterOf = ({ options }: Context): Date | undefined => {
  const value = optionText(options, 'created-after')
  if (value === undefined) return undefined
  if (!/^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:?\d{2})$/.test(value) || Number.isNaN(Date.parse(value))) {
    throw new OperatorFault('--created-after must be an ISO 8601 timestamp with a time zone.')
  }
  return new Date(value)
}

/** The head that the operator kept, which must be signed: an unsigned one could be anyone's. */
const givenHead = ({ config, options }: Context): WitnessedHead | undefined => {
  const token = optionText(options, 'head')
  if (token === undefined) return undefined
  const head = parseHeadToken(token)
  if (!head) throw new OperatorFault('--head must be a head as `tidings ops audit head` prints it.')
  if (!isSignedHead(config.auditSecrets, head))
    throw new OperatorFault('--head is not signed with AUDIT_SIGNING_SECRET.')
  return head
}

type NamedWitness = { name: string; option: '--witness' | 'AUDIT_WITNESS' }

const namedWitness = ({ config, options }: Context): NamedWitness | undefined => {
  const given = optionText(options, 'witness')
  if (given === undefined) {
    return config.auditWitness === undefined ? undefined : { name: config.auditWitness, option: 'AUDIT_WITNESS' }
  }
  if (fileOrObjects.schema.safeParse(given).success) return { name: given, option: '--witness' }
  throw new OperatorFault(`--witness must be ${fileOrObjects.text}, not "${given}".`)
}

const unreadable = ({ option }: NamedWitness, error: unknown): OperatorFault =>
  new OperatorFault(`Cannot read the witness: ${(error as Error).message}. Check ${option}.`)

async function* keptHeads(
  { config }: Context,
  witness: NamedWitness | undefined,
  head: WitnessedHead | undefined,
): AsyncGenerator<WitnessLine> {
  if (head) yield { line: 0, head }
  if (!witness) return
  try {
    yield* readWitness(witness.name, config.awsRegion)
  } catch (error) {
    throw unreadable(witness, error)
  }
}

/** Compares with the witness and with `--head`. Undefined when there is nothing to compare with. */
const compareWithKept = async (context: Context, orgId?: string): Promise<ComparedHeads | undefined> => {
  const { db, config } = context
  const witness = namedWitness(context)
  const head = givenHead(context)
  if (!witness && !head) return undefined
  return compareHeads({ db, secrets: config.auditSecrets }, keptHeads(context, witness, head), orgId)
}

const withKept = (report: ChainReport, kept: ComparedHeads | undefined) => {
  const own = kept?.findings.get(report.org_id) ?? noFindings()
  const register = kept?.findings.get(registerName) ?? noFindings()
  return {
    ...report,
    register:
      register.rolled_back.length > 0 ? 'rolled_back' : register.forged_lines.length > 0 ? 'invalid' : report.register,
    /** How many kept heads were compared, or null without a witness. */
    witnessed: kept ? own.compared : null,
    rolled_back: own.rolled_back,
    forged_lines: own.forged_lines,
    unreadable_lines: kept?.unreadable ?? 0,
  }
}

type KeptReport = ReturnType<typeof withKept>

const isSound = (report: KeptReport): boolean =>
  isIntact(report) && report.rolled_back.length + report.forged_lines.length === 0

const shown = (report: KeptReport): string =>
  asLines(
    Object.fromEntries(
      Object.entries(report).map(([name, value]) => [name, Array.isArray(value) ? value.join(' ') || null : value]),
    ),
  )

/** An org may have been deleted together with its log, so traces of the log are enough. */
const requireTrace = async ({ db }: Context, orgId: string, kept: ComparedHeads | undefined): Promise<void> => {
  const chain = await db.row(findChain, { orgId })
  const traced = chain?.registered || (chain?.head_seq ?? 0) > 0 || kept?.findings.has(orgId)
  if (!traced) await existing(db, orgId)
}

const verifyOrg = async (context: Context, orgId: string): Promise<void> => {
  const kept = await compareWithKept(context, orgId)
  await requireTrace(context, orgId, kept)
  const report = withKept(await context.chain.verify(orgId, { createdAfter: createdAfterOf(context) }), kept)
  print(context, report, shown(report))
  if (!isSound(report)) throw new OperatorFault('The audit chain of this org is not intact.')
}

/** Prints the reports of the orgs whose log is not intact, or with `--json` all reports, one per line. */
const verifyAll = async (context: Context): Promise<void> => {
  const { db, config, options, chain } = context
  const createdAfter = createdAfterOf(context)
  const kept = await compareWithKept(context)
  const register = await verifyRegister(db, config.auditSecrets)
  const unseen = new Set(kept?.findings.keys() ?? [])
  unseen.delete(registerName)
  const faulty: string[] = []
  let orgs = 0
  const verifyNext = async (orgId: string): Promise<void> => {
    const report = withKept(await chain.verify(orgId, { createdAfter, register }), kept)
    orgs++
    unseen.delete(orgId)
    if (!isSound(report)) faulty.push(orgId)
    if (options.json || !isSound(report)) print(context, report, `${shown(report)}\n`)
  }
  for await (const { org_id } of byOrg(db, orgsWithLogs, page)) await verifyNext(org_id)
  for (const orgId of [...unseen]) await verifyNext(orgId)
  if (!options.json) context.out(`orgs verified      ${orgs}\n`)
  if (faulty.length > 0) throw new OperatorFault(`The audit chains of these orgs are not intact: ${faulty.join(' ')}`)
}

/** Links what is waiting, then verifies one org or all. Fails if anything was tampered with. */
export const verifyAudit = async (context: Context, orgId: string | undefined): Promise<void> => {
  requireSecret(context)
  await context.chain.link()
  await (orgId === undefined ? verifyAll(context) : verifyOrg(context, orgId))
}

const headOf = (row: OrgHead): WitnessedHead => ({
  org_id: row.org_id,
  seq: row.head_seq,
  digest: row.head_digest.toString('hex'),
  signature: row.head_signature,
})

async function* currentHeads({ db }: Context): AsyncGenerator<WitnessedHead> {
  for await (const row of byOrg(db, headsAfter, page)) yield headOf(row)
  const register = await db.row(findRegister)
  if (register && register.seq > 0) {
    const { seq, digest, signature } = register
    yield { org_id: registerName, seq, digest: digest.toString('hex'), signature }
  }
}

const printHead = (context: Context, head: WitnessedHead): void => {
  if (!isSignedHead(context.config.auditSecrets, head)) {
    throw new OperatorFault(`The head of ${head.org_id} is not signed with AUDIT_SIGNING_SECRET. Verify the log first.`)
  }
  print(context, { ...head, at: context.clock.now().toISOString() }, headToken(head))
}

/** Prints heads to be kept elsewhere. With `--json`, the lines can be used as a witness file. */
export const keepHead = async (context: Context, orgId: string | undefined): Promise<void> => {
  requireSecret(context)
  await context.chain.link()
  if (orgId === undefined) {
    for await (const head of currentHeads(context)) printHead(context, head)
    return
  }
  const chain = await context.db.row(findChain, { orgId })
  if (!chain || chain.head_seq === 0) throw new OperatorFault(`Org ${orgId} has no linked audit entries.`)
  printHead(context, headOf({ org_id: orgId, ...chain }))
}

export const trustAudit = async (context: Context, orgId: string): Promise<void> => {
  requireSecret(context)
  const { db, clock, audit, config, options } = context
  const operator = required(options, 'operator')
  await existing(db, orgId)
  const ends = await makeTrustEnds({ db, clock, audit, secrets: config.auditSecrets })(orgId, operator)
  if (!ends) throw new OperatorFault('The chain is in use by another process. Run the command again.')
  print(context, { org_id: orgId, ...ends }, `The ends of the audit chain of ${orgId} are signed again.`)
}
