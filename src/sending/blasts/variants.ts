/** Which subject a contact gets, and which contacts take part in a test. The same contact always gets the same one. */
import { createHash } from 'node:crypto'

const hashOf = (contactId: string): number => createHash('sha256').update(contactId).digest().readUInt32BE(0)

export const variantOf = (contactId: string, variants: number): number => hashOf(contactId) % variants

/** A, B, C and so on. */
export const variantLetter = (variant: number): string => String.fromCharCode(65 + variant)

/**
 * The contacts that a test is sent to. Every variant gets the same number of contacts, as far as it has enough of them:
 * those with the lowest hashes.
 */
export const testShare = (contactIds: readonly string[], variants: number, percent: number): Set<string> => {
  const each = Math.ceil((contactIds.length * percent) / 100 / variants)
  const hashed = contactIds.map((id) => ({ id, hash: hashOf(id) }))
  const groups = Map.groupBy(hashed, ({ hash }) => hash % variants)
  const chosen = [...groups.values()].flatMap((group) => group.sort((a, b) => a.hash - b.hash).slice(0, each))
  return new Set(chosen.map(({ id }) => id))
}
