/**
 * Signs the ends of a chain with the current secret on the decision of an operator. Nothing else signs an end that did
 * not verify before: after a change of the secret, or after tampering, the chain is not extended until then.
 */
import { randomBytes } from 'node:crypto'
import type { Tx } from '../../platform/db/pool.ts'
import type { Audit } from './append.ts'
import { headStatus, prunedStatus, signEnd } from './chain-ends.ts'
import type { AuditNeeds } from './judge-entry.ts'
import { registerOrg } from './register.ts'
import { signEnds, signRegister } from './renew-ends.ts'
import { beginChain, lockChain, restartChain } from './store/chain-rows.ts'
import { lockRegister } from './store/register-rows.ts'

type Needs = Pick<AuditNeeds, 'db' | 'clock' | 'secrets'> & { audit: Audit }

export const makeTrustEnds = ({ db, clock, audit, secrets }: Needs) => {
  const trustRegister = async (tx: Tx): Promise<void> => {
    const register = await tx.row(lockRegister)
    if (register && register.seq > 0) await signRegister(tx, secrets, register, clock.now())
  }

  const register = async (tx: Tx, orgId: string): Promise<void> => {
    const added = await registerOrg(tx, secrets, orgId, clock.now())
    if ('fault' in added) throw new Error(added.fault)
  }

  /** A log that was deleted continues after a first link that belongs to no entry. */
  const restart = (tx: Tx, orgId: string) => {
    const link = { orgId, seq: 1, digest: randomBytes(32) }
    return tx.change(restartChain, {
      ...link,
      headSignature: signEnd(secrets[0], { ...link, end: 'registered' }),
      prunedSignature: signEnd(secrets[0], { ...link, end: 'pruned' }),
      at: clock.now(),
    })
  }

  /** Returns what the ends were before, or undefined if another process is using the chain. */
  return (orgId: string, operator: string) =>
    db.tx(async (tx) => {
      await tx.change(beginChain, { orgId, at: clock.now() })
      const chain = await tx.row(lockChain, { orgId })
      if (!chain) return undefined
      const ends = { head: headStatus(secrets, orgId, chain), pruned: prunedStatus(secrets, orgId, chain) }
      await trustRegister(tx)
      if (ends.head === 'deleted') await restart(tx, orgId)
      else if (chain.head_seq > 0) {
        if (!chain.registered) await register(tx, orgId)
        await signEnds(tx, { secrets, orgId, chain, end: 'registered', at: clock.now() })
      }
      // Retention relies on the number: it deletes entries up to it whose secret is not known any more.
      const entry = { orgId, actor: { kind: 'system' }, resourceType: 'audit', resourceId: orgId } as const
      await audit(tx, { ...entry, action: 'audit.ends_signed', metadata: { operator, ...ends, seq: chain.head_seq } })
      return ends
    })
}
