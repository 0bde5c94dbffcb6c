/**
 * The register of chains. Its rows form a chain of their own with a signed head, so that the deletion of a whole log
 * leaves a trace outside that log.
 */
import { byOrg } from '../../platform/db/by-org.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import { type EndStatus, endStatus, isSignedAs, registerDigest, signEnd } from './chain-ends.ts'
import type { AuditNeeds, AuditSecrets } from './judge-entry.ts'
import { lockChain, setEndSignatures } from './store/chain-rows.ts'
import {
  addToRegister,
  beginRegister,
  findRegister,
  lockRegister,
  type RegisterHead,
  readRegister,
  unregisteredChains,
} from './store/register-rows.ts'
import type { WitnessedHead } from './witness.ts'

/** The name of the register where a head names its org. */
export const registerName = 'register'

const page = 1_000

/**
 * `broken`: rows were changed or removed, or chains that were registered are no longer named. `rolled_back`: it does
 * not contain a head that was kept elsewhere.
 */
export type RegisterStatus = EndStatus | 'broken' | 'rolled_back'

const statusOfHead = (secrets: AuditSecrets, { seq, digest, signature }: RegisterHead): EndStatus =>
  seq === 0 ? 'none' : endStatus(secrets, { end: 'register', orgId: registerName, seq, digest }, signature)

/** Why this process may not add to the register: its signature must not make a register valid that someone changed. */
export const faultOfRegister = (secrets: AuditSecrets, head: RegisterHead): string | undefined => {
  const status = statusOfHead(secrets, head)
  if (status === 'stripped' || status === 'invalid') return `the audit register is ${status}`
  if (secrets.length > 0 || head.signature === null) return undefined
  return 'the audit register is signed, and AUDIT_SIGNING_SECRET is not set'
}

/**
 * Adds an org whose chain begins, in the transaction of its first link. Returns the new head of the register, or why the
 * org could not be added.
 */
export const registerOrg = async (
  tx: Tx,
  secrets: AuditSecrets,
  orgId: string,
  at: Date,
): Promise<{ head: WitnessedHead } | { fault: string }> => {
  await tx.change(beginRegister, { at })
  const head = (await tx.row(lockRegister)) as RegisterHead
  const fault = faultOfRegister(secrets, head)
  if (fault !== undefined) return { fault }
  const seq = head.seq + 1
  const digest = registerDigest(head.digest, seq, orgId)
  const signature = signEnd(secrets[0], { end: 'register', orgId: registerName, seq, digest })
  await tx.change(addToRegister, { seq, orgId, digest, signature, at })
  return { head: { org_id: registerName, seq, digest: digest.toString('hex'), signature } }
}

/**
 * Registers the chains of earlier releases, and those that began while the register did not verify. A chain whose head
 * does not verify is left as it is.
 */
export const makeRegisterChains =
  ({ db, clock, log, secrets }: AuditNeeds) =>
  async (): Promise<number> => {
    const registerOne = (orgId: string): Promise<boolean> =>
      db.tx(async (tx) => {
        const chain = await tx.row(lockChain, { orgId })
        if (!chain || chain.registered || !isSignedAs(secrets, 'head', orgId, chain)) return false
        const at = clock.now()
        if ('fault' in (await registerOrg(tx, secrets, orgId, at))) return false
        const { head_seq: seq, head_digest: digest, pruned_signature: prunedSignature } = chain
        const headSignature = signEnd(secrets[0], { end: 'registered', orgId, seq, digest })
        await tx.change(setEndSignatures, { orgId, headSignature, prunedSignature, at })
        return true
      })
    const register = await db.row(findRegister)
    if (register && faultOfRegister(secrets, register) !== undefined) return 0
    let registered = 0
    for await (const { org_id } of byOrg(db, unregisteredChains, page)) {
      const done = await registerOne(org_id).catch((error: unknown) => {
        log.error({ err: error, org_id }, 'audit chain registration failed')
        return false
      })
      if (done) registered++
    }
    return registered
  }

const rowsMatch = async (db: Db, head: RegisterHead): Promise<boolean> => {
  let last = { seq: 0, digest: Buffer.alloc(0) as Buffer }
  for (;;) {
    const rows = await db.rows(readRegister, { afterSeq: last.seq, limit: page })
    for (const { seq, org_id, digest } of rows) {
      // Rows that were added after the head was read are not part of this check.
      if (seq === head.seq + 1 && last.seq === head.seq) return last.digest.equals(head.digest)
      if (seq !== last.seq + 1 || !registerDigest(last.digest, seq, org_id).equals(digest)) return false
      last = { seq, digest }
    }
    if (rows.length < page) return last.seq === head.seq && last.digest.equals(head.digest)
  }
}

/** Whether a chain that was registered is no longer named. A chain that was not need not be named yet. */
const lostChain = async (db: Db, secrets: AuditSecrets): Promise<boolean> => {
  for await (const chain of byOrg(db, unregisteredChains, page)) {
    if (isSignedAs(secrets, 'registered', chain.org_id, chain)) return true
  }
  return false
}

export const verifyRegister = async (db: Db, secrets: AuditSecrets): Promise<RegisterStatus> => {
  const head = (await db.row(findRegister)) ?? { seq: 0, digest: Buffer.alloc(0), signature: null }
  if (!(await rowsMatch(db, head)) || (await lostChain(db, secrets))) return 'broken'
  return statusOfHead(secrets, head)
}
