/**
 * Signs the ends of chains. Ends that verify with a former secret are signed again with the current one, so that the
 * former one can be removed when retention has deleted the last entry that it signed.
 */
import type { Tx } from '../../platform/db/pool.ts'
import { faultOfEnds, isSignedAs, signEnd } from './chain-ends.ts'
import type { AuditNeeds, AuditSecrets } from './judge-entry.ts'
import { faultOfRegister, registerName } from './register.ts'
import { type ChainRow, lockChain, setEndSignatures } from './store/chain-rows.ts'
import { lockRegister, type RegisterHead, setRegisterSignature } from './store/register-rows.ts'

type Signing = { secrets: AuditSecrets; orgId: string; chain: ChainRow; end: 'head' | 'registered'; at: Date }

/** Only for ends that verify, or that an operator has decided to trust. */
export const signEnds = (tx: Tx, { secrets: [secret], orgId, chain, end, at }: Signing): Promise<number> => {
  const { head_seq, head_digest, pruned_seq, pruned_digest } = chain
  const head = { end, orgId, seq: head_seq, digest: head_digest }
  const pruned = pruned_digest && ({ end: 'pruned', orgId, seq: pruned_seq, digest: pruned_digest } as const)
  return tx.change(setEndSignatures, {
    orgId,
    headSignature: signEnd(secret, head),
    prunedSignature: pruned && signEnd(secret, pruned),
    at,
  })
}

/** Only for a register that verifies, or that an operator has decided to trust. */
export const signRegister = async (tx: Tx, secrets: AuditSecrets, register: RegisterHead, at: Date): Promise<void> => {
  const { seq, digest } = register
  const signature = signEnd(secrets[0], { end: 'register', orgId: registerName, seq, digest })
  await tx.change(setRegisterSignature, { signature, at })
}

export const makeRenewEnds = ({ db, clock, secrets }: AuditNeeds) => {
  const current = secrets.slice(0, 1)
  const isDue = (faultWith: (some: AuditSecrets) => string | undefined): boolean =>
    secrets.length > 1 && faultWith(secrets) === undefined && faultWith(current) !== undefined
  const chainIsDue = (orgId: string, chain: ChainRow) => isDue((some) => faultOfEnds(some, orgId, chain))
  const registerIsDue = (register: RegisterHead) => isDue((some) => faultOfRegister(some, register))

  return {
    /** The row may have been read without a lock. */
    chain: async (orgId: string, read: ChainRow): Promise<void> => {
      if (!chainIsDue(orgId, read)) return
      await db.tx(async (tx) => {
        const chain = await tx.row(lockChain, { orgId })
        if (!chain || !chainIsDue(orgId, chain)) return
        const end = isSignedAs(secrets, 'registered', orgId, chain) ? 'registered' : 'head'
        await signEnds(tx, { secrets, orgId, chain, end, at: clock.now() })
      })
    },
    register: async (read: RegisterHead): Promise<void> => {
      if (!registerIsDue(read)) return
      await db.tx(async (tx) => {
        const register = await tx.row(lockRegister)
        if (register && registerIsDue(register)) await signRegister(tx, secrets, register, clock.now())
      })
    },
  }
}
