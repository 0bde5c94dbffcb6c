/** The digests of links, and the signed ends of a chain: without the secret, neither end can be moved. */
import { canonicalJson } from '../../platform/ground/canonical.ts'
import { makeHmac, sameBytes, sha256 } from '../../platform/ground/crypto.ts'
import type { AuditSecrets } from './judge-entry.ts'
import { shownTime } from './shown-entry.ts'
import type { ChainRow } from './store/chain-rows.ts'
import type { EntryRow } from './store/entry-rows.ts'

/** Covers the signed fields except the actor, which is cleared when a user is erased. */
export const linkDigest = (previous: Buffer, seq: number, entry: EntryRow): Buffer => {
  const { org_id, id, action, resource_type, resource_id, metadata, created_at } = entry
  const head = JSON.stringify([seq, org_id, id, action, resource_type, resource_id])
  // Serialized on its own, so that metadata may be nested as deeply here as in the signature.
  const text = `${head.slice(0, -1)},${canonicalJson(metadata)},${JSON.stringify(shownTime(created_at))}]`
  return sha256(Buffer.concat([previous, Buffer.from(text)]))
}

export const digestMatches = (previous: Buffer, seq: number, entry: EntryRow, digest: Buffer): boolean => {
  try {
    return linkDigest(previous, seq, entry).equals(digest)
  } catch {
    // The entry has values that the service never writes, such as metadata that is nested too deeply.
    return false
  }
}

export const registerDigest = (previous: Buffer, seq: number, orgId: string): Buffer =>
  sha256(Buffer.concat([previous, Buffer.from(JSON.stringify([seq, orgId]))]))

/**
 * `head` is the newest link of a chain that the register does not name yet, because it is of an earlier release or began
 * while the register did not verify. `registered` is the same of an org that the register names.
 * `pruned` is the last link that retention removed. `register` is the newest row of the register.
 */
type EndKind = 'head' | 'registered' | 'pruned' | 'register'
type ChainEnd = { end: EndKind; orgId: string; seq: number; digest: Buffer }

export const signEnd = (secret: string | undefined, { end, orgId, seq, digest }: ChainEnd): string | null =>
  secret === undefined ? null : makeHmac(secret)(JSON.stringify([end, orgId, seq, digest.toString('hex')]))

/**
 * `none`: the chain does not have this end yet. `unsigned`: no secret is configured. `stripped`: the signature is
 * missing although a secret is configured, because it was removed or the end was written before the secret was set.
 */
export type EndStatus = 'none' | 'ok' | 'unsigned' | 'stripped' | 'invalid'

export const endStatus = (secrets: AuditSecrets, end: ChainEnd, signature: string | null): EndStatus => {
  if (secrets.length === 0) return 'unsigned'
  if (signature === null) return 'stripped'
  const matches = secrets.some((secret) => sameBytes(signEnd(secret, end) as string, signature))
  return matches ? 'ok' : 'invalid'
}

/** `deleted`: the register names the org, but its chain is gone. `unregistered`: the head is signed as registered. */
export type HeadStatus = EndStatus | 'deleted' | 'unregistered'

type Head = Pick<ChainRow, 'head_seq' | 'head_digest' | 'head_signature'>

export const isSignedAs = (secrets: AuditSecrets, end: 'head' | 'registered', orgId: string, head: Head): boolean =>
  endStatus(secrets, { end, orgId, seq: head.head_seq, digest: head.head_digest }, head.head_signature) === 'ok'

export const headStatus = (secrets: AuditSecrets, orgId: string, chain: Head & { registered: boolean }): HeadStatus => {
  const { head_seq: seq, head_digest: digest, head_signature, registered } = chain
  if (seq === 0) return registered ? 'deleted' : 'none'
  if (isSignedAs(secrets, 'registered', orgId, chain)) return registered ? 'ok' : 'unregistered'
  return endStatus(secrets, { end: 'head', orgId, seq, digest }, head_signature)
}

type Pruned = Pick<ChainRow, 'pruned_seq' | 'pruned_digest' | 'pruned_signature'>

export const prunedStatus = (secrets: AuditSecrets, orgId: string, chain: Pruned): EndStatus => {
  const { pruned_seq: seq, pruned_digest: digest, pruned_signature } = chain
  if (digest === null) return 'none'
  return endStatus(secrets, { end: 'pruned', orgId, seq, digest }, pruned_signature)
}

/**
 * Why this process may not add links or move the pruned end. Its signature must not make an end valid that someone
 * moved, and without a secret it must not replace a signed end by an unsigned one.
 */
export const faultOfEnds = (secrets: AuditSecrets, orgId: string, chain: ChainRow): string | undefined => {
  const head = headStatus(secrets, orgId, chain)
  const pruned = prunedStatus(secrets, orgId, chain)
  const isGood = (status: HeadStatus): boolean => ['none', 'ok', 'unsigned'].includes(status)
  if (!isGood(head)) return `the head of the audit chain is ${head}`
  if (!isGood(pruned)) return `the pruned end of the audit chain is ${pruned}`
  if (secrets.length > 0 || (chain.head_signature === null && chain.pruned_signature === null)) return undefined
  return 'the audit chain is signed, and AUDIT_SIGNING_SECRET is not set'
}
