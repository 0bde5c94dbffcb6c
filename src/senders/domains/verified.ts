import type { Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Vault } from '../../platform/ground/crypto.ts'
import { newId } from '../../platform/ground/ids.ts'
import { delayAfterCheck } from './check.ts'
import { type DkimKey, dkimKeyContext, newDkimKey } from './dkim-key.ts'
import type { RecordStatuses } from './records.ts'
import { insertVerifiedDomain } from './store/new-domains.ts'

/** A verified domain whose key is already generated, so that the insert can run in a transaction. */
export type VerifiedDomain = { insert(tx: Tx, orgId: string, projectId: string): Promise<void> }

type Needs = { clock: Clock; vault: Vault; newKey?: (() => Promise<DkimKey>) | undefined }

const allFound: RecordStatuses = { DKIM: 'found', RETURN_PATH: 'found', SPF: 'found', DMARC: 'found' }

/** Prepares the domain of a new installation. The simulated provider reports every `.test` name as verified. */
export const makeVerifiedDomain = async (
  { clock, vault, newKey = newDkimKey }: Needs,
  name: string,
): Promise<VerifiedDomain> => {
  const key = await newKey()
  return {
    insert: async (tx, orgId, projectId) => {
      const at = clock.now()
      const id = newId('domain', at.getTime())
      await tx.change(insertVerifiedDomain, {
        orgId,
        id,
        projectId,
        name,
        region: 'us-east-1',
        publicKey: key.publicKey,
        sealedPrivateKey: vault.seal(key.privateKey, dkimKeyContext(id)),
        recordStatuses: JSON.stringify(allFound),
        nextCheckAt: new Date(at.getTime() + delayAfterCheck('verified', 0)),
        at,
      })
    },
  }
}
