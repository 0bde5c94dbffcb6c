import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { AuditNeeds } from './judge-entry.ts'
import { sign } from './sign-entry.ts'
import { fieldsOf, signatureStatus } from './signature-status.ts'
import { anonymise, type EntryRow, entriesOfActor, forbidChanges, permitChanges } from './store/entry-rows.ts'

const chunk = 500

type Needs = Pick<AuditNeeds, 'log' | 'secrets' | 'cutover'>

/**
 * An entry with a valid signature is signed again without its actor, with the secret that signed it before. Any other
 * entry keeps its signature, so that erasing a user never makes a forged entry valid.
 */
const signatureWithout = (row: EntryRow, { secrets, cutover }: Needs): string | null => {
  const fields = fieldsOf(row)
  for (const secret of secrets) {
    const withoutActor = sign(secret, { ...fields, actorUserId: null })
    if (signatureStatus(fields, { secret, cutover }) === 'ok') return withoutActor
    // Someone forged this entry by adding a user to an entry that had none. Clearing the user would make the stored
    // signature valid again, so it is kept in uppercase: still recognizable, but not valid.
    if (row.signature === withoutActor) return withoutActor.toUpperCase()
  }
  return row.signature
}

const eraseChunk = async (tx: Tx, userId: string, needs: Needs): Promise<number> => {
  const rows = await tx.rows(entriesOfActor, { userId, limit: chunk })
  if (rows.length === 0) return 0
  await tx.row(permitChanges, { path: 'erasure' })
  await tx.change(anonymise, {
    orgIds: rows.map((row) => row.org_id),
    ids: rows.map((row) => row.id),
    signatures: rows.map((row) => signatureWithout(row, needs)),
  })
  await tx.row(forbidChanges)
  return rows.length
}

/**
 * Removes a user's id from their audit entries, in the transaction of the caller, so that the entries that it wrote lose
 * their actor too. Returns the number of entries.
 */
export const makeEraseActor =
  (needs: Needs) =>
  (tx: Tx, userId: string): Promise<number> => {
    if (needs.secrets.length === 0) {
      needs.log.warn({ user_id: userId }, 'erasing audit actor without signing secret: signed entries become invalid')
    }
    return inChunks(chunk, () => eraseChunk(tx, userId, needs))
  }
