import { type SignedFields, signatureMatches } from './sign-entry.ts'

/** What a stored entry turns out to be. Derived on every look, never stored. */
export type Verdict = 'ok' | 'unsigned' | 'legacy' | 'invalid' | 'stripped'

/** An object with two keys or more has an order, and entries of old were signed in an order nobody kept. */
const hasAmbiguousOrder = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(hasAmbiguousOrder)
  if (typeof value !== 'object' || value === null) return false
  const inner = Object.values(value)
  return inner.length >= 2 || inner.some(hasAmbiguousOrder)
}

export const verdictOf = (
  entry: SignedFields & { signature: string | null },
  { secret, cutover }: { secret: string; cutover: Date },
): Verdict => {
  // The instant of the cutover itself counts as after it.
  const after = entry.createdAt.getTime() >= cutover.getTime()
  if (entry.signature === null || entry.signature === '') return after ? 'stripped' : 'unsigned'
  if (signatureMatches(secret, entry, entry.signature)) return 'ok'
  return !after && hasAmbiguousOrder(entry.metadata) ? 'legacy' : 'invalid'
}
