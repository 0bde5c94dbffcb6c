/** Decides whether an entry is as the service wrote it, from its signature, its seal and the time in its id. */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { isId, timeOfId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { makeSealer, type SealedFields, type Sealer } from './seal-entry.ts'
import { canonicalMetadata } from './sign-entry.ts'
import { fieldsOf, type SignatureStatus, signatureStatus } from './signature-status.ts'
import type { EntryRow } from './store/entry-rows.ts'

/** The signing secret and then the former ones. Empty when no secret is configured. */
export type AuditSecrets = readonly string[]

/** What the parts of the log are made with. */
export type AuditNeeds = { db: Db; clock: Clock; log: Log; secrets: AuditSecrets; cutover: Date }

/**
 * `misdated`: `created_at` disagrees with the time in the id. `operator`: an entry of an operator command of an earlier
 * release, which wrote neither a signature nor a seal.
 */
export type EntryVerdict = SignatureStatus | 'misdated' | 'operator'

/** An id keeps the order of its process when the clock steps back, so it can be this much later than the entry. */
const maxIdLeadMs = 10_000

const isMisdated = (row: EntryRow, exact: boolean): boolean => {
  const lead = isId('auditEntry', row.id) ? timeOfId(row.id) - Number(row.created_at) : Number.NaN
  return !(lead >= 0 && lead <= (exact ? 0 : maxIdLeadMs))
}

const isOfOperator = (row: EntryRow): boolean =>
  ['org.suspended', 'org.unsuspended'].includes(row.action) &&
  row.user_agent === 'operator-tool' &&
  row.actor_user_id === null &&
  row.ip_address === null &&
  row.signature === null

/** Whether the id of an entry shows that one of the secrets signed it. Ids of releases before the seal show nothing. */
export const makeIsOfSecrets = (secrets: AuditSecrets): ((id: string) => boolean) => {
  const sealers = secrets.map(makeSealer)
  return (id) => sealers.some((sealer) => sealer.isTagged(id))
}

type JudgeOptions = Pick<AuditNeeds, 'secrets' | 'cutover'>

/** The status under the secret that made the signature, or else under the current one. */
export const bestStatus = (
  row: EntryRow,
  { secrets, cutover }: JudgeOptions,
  metadata = canonicalMetadata(row.metadata),
): SignatureStatus => {
  const fields = fieldsOf(row)
  const statuses = secrets.map((secret) => signatureStatus(fields, { secret, cutover }, metadata))
  return statuses.find((status) => status === 'ok') ?? statuses[0] ?? 'unsigned'
}

const sealedVerdict = (row: EntryRow, sealers: Sealer[], options: JudgeOptions): EntryVerdict => {
  const { seal } = row
  if (seal === null || seal === '') return 'stripped'
  const metadata = canonicalMetadata(row.metadata)
  const fields = { ...fieldsOf(row), ip: row.ip_address, userAgent: row.user_agent }
  const matches = (signed: boolean): boolean =>
    sealers.some((sealer) => sealer.sealMatches({ ...fields, signed } satisfies SealedFields, metadata, seal))
  if (matches(true)) {
    if (row.signature === null || row.signature === '') return 'stripped'
    return bestStatus(row, options, metadata) === 'ok' ? 'ok' : 'invalid'
  }
  return matches(false) && row.signature === null ? 'ok' : 'invalid'
}

/** Without a secret, only the time of an entry can be judged. */
export const makeJudgeEntry = (options: JudgeOptions) => {
  const sealers = options.secrets.map(makeSealer)
  const judge = (row: EntryRow): EntryVerdict => {
    if (sealers.length === 0) return isMisdated(row, false) ? 'misdated' : 'unsigned'
    const sealed = row.seal !== null || sealers.some((sealer) => sealer.isTagged(row.id))
    if (isMisdated(row, sealed)) return 'misdated'
    if (sealed) return sealedVerdict(row, sealers, options)
    const status = bestStatus(row, options)
    return status === 'stripped' && isOfOperator(row) ? 'operator' : status
  }
  return (row: EntryRow): EntryVerdict => {
    try {
      return judge(row)
    } catch {
      // Values that the service never writes, such as metadata that is nested too deeply to be signed.
      return 'invalid'
    }
  }
}
