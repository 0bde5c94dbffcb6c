/**
 * The second form of an entry. Its seal covers the columns that the documented signature leaves out, and never changes:
 * the erasure of a person changes only the actor and the signature. The id ends with a tag that only the secret can
 * produce, so an entry of this form cannot be passed off as one of the first form by removing its seal.
 */
import { makeHmac, sameBytes } from '../../platform/ground/crypto.ts'
import { idDigits, newId } from '../../platform/ground/ids.ts'
import { iso } from '../../platform/ground/instant.ts'
import type { SignedFields } from './sign-entry.ts'

export type SealedFields = Omit<SignedFields, 'actorUserId' | 'metadata'> & {
  ip: string | null
  userAgent: string
  /** Whether the entry also has a signature. Entries of operator commands have none. */
  signed: boolean
}

/** The tag replaces 35 of the 62 random bits of an id. */
const tagLength = 7

const sealedText = (fields: SealedFields, metadata: string | null): string => {
  const { id, orgId, action, resourceType, resourceId, createdAt, ip, userAgent, signed } = fields
  const head = JSON.stringify([2, id, orgId, action, resourceType, resourceId])
  const tail = JSON.stringify([iso(createdAt), ip, userAgent, signed])
  return `${head.slice(0, -1)},${metadata ?? 'null'},${tail.slice(1)}`
}

export const makeSealer = (secret: string) => {
  const hmac = makeHmac(secret)
  const tagged = (id: string): string => {
    const untagged = id.slice(0, -tagLength)
    return untagged + idDigits(hmac(`audit id ${untagged}`), tagLength)
  }
  /** `metadata` must be in its canonical form. */
  const seal = (fields: SealedFields, metadata: string | null): string => `2:${hmac(sealedText(fields, metadata))}`
  return {
    newEntryId: (ms: number): string => tagged(newId('auditEntry', ms)),
    isTagged: (id: string): boolean => id.length > tagLength && sameBytes(tagged(id), id),
    seal,
    sealMatches: (fields: SealedFields, metadata: string | null, stored: string): boolean =>
      sameBytes(seal(fields, metadata), stored),
  }
}

export type Sealer = ReturnType<typeof makeSealer>
