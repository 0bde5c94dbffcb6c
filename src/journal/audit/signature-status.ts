import { canonicalMetadata, type SignedFields, signatureMatches } from './sign-entry.ts'
import type { EntryRow } from './store/entry-rows.ts'

/** The result of checking a stored entry's signature. Computed at every read, never stored. */
export type SignatureStatus = 'ok' | 'unsigned' | 'legacy' | 'invalid' | 'stripped'

/** Before the cutover, entries were signed with metadata keys in an order that was not recorded. */
const hasAmbiguousOrder = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(hasAmbiguousOrder)
  if (typeof value !== 'object' || value === null) return false
  const inner = Object.values(value)
  return inner.length >= 2 || inner.some(hasAmbiguousOrder)
}

/** `metadata` is that of the entry, in its canonical form. */
export const signatureStatus = (
  entry: SignedFields & { signature: string | null },
  { secret, cutover }: { secret: string; cutover: Date },
  metadata: string | null = canonicalMetadata(entry.metadata),
): SignatureStatus => {
  // An entry created exactly at the cutover counts as after it.
  const after = entry.createdAt.getTime() >= cutover.getTime()
  if (entry.signature === null || entry.signature === '') return after ? 'stripped' : 'unsigned'
  if (signatureMatches(secret, entry, metadata, entry.signature)) return 'ok'
  return !after && hasAmbiguousOrder(entry.metadata) ? 'legacy' : 'invalid'
}

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
