import type { Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import type { Vault } from '../ground/crypto.ts'
import { newId } from '../ground/ids.ts'
import { restAfterCheck } from './check.ts'
import { type DkimKey, newDkimKey, sealedFor } from './dkim-key.ts'
import type { RecordStatuses } from './records.ts'
import { insertVerifiedDomain } from './store.ts'

/** A domain that needs no proof, with its key made; what is left to do fits into a transaction. */
export type VerifiedDomain = { insert(tx: Tx, orgId: string, projectId: string): Promise<void> }

type Needs = { clock: Clock; vault: Vault; newKey?: (() => Promise<DkimKey>) | undefined }

const allFound: RecordStatuses = { DKIM: 'found', RETURN_PATH: 'found', SPF: 'found', DMARC: 'found' }

/** As the local provider holds any name under `.test`: what the first run starts with. */
export const makeVerifiedDomain = async (
  { clock, vault, newKey = newDkimKey }: Needs,
  name: string,
): Promise<VerifiedDomain> => {
  const key = await newKey()
  return {
    insert: async (tx, orgId, projectId) => {
      const at = clock.now()
      const id = newId('domain', at.getTime())
      const sealed = vault.seal(key.privateKey, sealedFor(id))
      const next = new Date(at.getTime() + restAfterCheck('verified', 0))
      await tx.change(insertVerifiedDomain, {
        orgId,
        id,
        projectId,
        name,
        region: 'us-east-1',
        publicKey: key.publicKey,
        sealedPrivateKey: sealed,
        recordStatuses: JSON.stringify(allFound),
        nextCheckAt: next,
        at,
      })
    },
  }
}
