import type { Db } from '../db/pool.ts'
import type { Log } from '../ground/log.ts'
import { type SignedFields, sign } from './sign-entry.ts'
import { anonymise, closePath, type EntryRow, entriesOfActor, openPath } from './store.ts'
import { verdictOf } from './verdict.ts'

const chunk = 500

export const fieldsOf = (row: EntryRow): SignedFields & { signature: string | null } => ({
  id: row.id,
  orgId: row.org_id,
  action: row.action,
  actorUserId: row.actor_user_id,
  resourceType: row.resource_type,
  resourceId: row.resource_id,
  metadata: row.metadata,
  createdAt: row.created_at,
  signature: row.signature,
})

/** Clears a person from the entries they caused; returns how many. */
export type EraseActor = (userId: string) => Promise<number>

type Needs = { db: Db; log: Log; secret: string | undefined; cutover: Date }

/**
 * Only an entry that proved good is signed anew without its actor. One that did not keeps what it has, so that
 * erasing a person never turns a forged entry into a proven one.
 */
export const makeEraseActor = ({ db, log, secret, cutover }: Needs): EraseActor => {
  const signatureWithout = (row: EntryRow): string | null => {
    if (secret === undefined) return row.signature
    const fields = fieldsOf(row)
    const anew = sign(secret, { ...fields, actorUserId: null })
    if (verdictOf(fields, { secret, cutover }) === 'ok') return anew
    // Forged by naming a person on an entry that had none: in capitals its signature still shows, and proves nothing.
    return row.signature === anew ? anew.toUpperCase() : row.signature
  }

  const eraseChunk = (userId: string): Promise<number> =>
    db.tx(async (tx) => {
      const rows = await tx.rows(entriesOfActor, { userId, limit: chunk })
      if (rows.length === 0) return 0
      await tx.row(openPath, { path: 'erasure' })
      await tx.change(anonymise, {
        orgIds: rows.map((row) => row.org_id),
        ids: rows.map((row) => row.id),
        signatures: rows.map(signatureWithout),
      })
      await tx.row(closePath)
      return rows.length
    })

  return async (userId) => {
    if (secret === undefined) {
      log.warn({ user_id: userId }, 'no signing secret: signed audit entries of an erased user will read as invalid')
    }
    for (let total = 0; ; ) {
      const erased = await eraseChunk(userId)
      total += erased
      if (erased < chunk) return total
    }
  }
}
