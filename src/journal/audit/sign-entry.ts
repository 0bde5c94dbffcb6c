/** The documented signature of an audit entry: HMAC-SHA256 over eight of its fields as a JSON array. */
import { canonicalJson } from '../../platform/ground/canonical.ts'
import { makeHmac, sameBytes } from '../../platform/ground/crypto.ts'
import { iso } from '../../platform/ground/instant.ts'

export type SignedFields = {
  id: string
  orgId: string
  action: string
  actorUserId: string | null
  resourceType: string | null
  resourceId: string | null
  metadata: Record<string, unknown> | null
  createdAt: Date
}

// PostgreSQL text cannot contain NUL characters or unpaired surrogates.
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

const cleaned = (_key: string, value: unknown): unknown => {
  if (typeof value === 'string') return storable(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storable(name), inner]))
}

const suspectEscape = /\\u(?:0000|d[89a-f])/i

/** Whether all values are strings and finite numbers, which JSON does not change. `sorted`: and the names are in order. */
const plainness = (metadata: Record<string, unknown>): 'sorted' | 'plain' | undefined => {
  let before = ''
  let sorted = true
  for (const name in metadata) {
    const value = metadata[name]
    if (typeof value !== 'string' && !Number.isFinite(value)) return undefined
    if (name < before) sorted = false
    before = name
  }
  return sorted ? 'sorted' : 'plain'
}

/** Metadata as it will be read back. JSON drops or converts some values, so that happens before signing. */
export const canonicalMetadata = (metadata: Record<string, unknown> | null): string | null => {
  if (metadata === null) return null
  const plain = plainness(metadata)
  const text = plain === 'plain' ? canonicalJson(metadata) : JSON.stringify(metadata)
  const isSuspect = text.includes('\\u') && suspectEscape.test(text)
  if (plain && !isSuspect) return text
  // Characters that cannot be stored appear as escapes. Without such an escape there is nothing to clean.
  return canonicalJson(JSON.parse(isSuspect ? JSON.stringify(metadata, cleaned) : text))
}

/** The text to sign. A JSON array makes field boundaries unambiguous. `metadata` must be in its canonical form. */
export const signedText = (fields: Omit<SignedFields, 'metadata'>, metadata: string | null): string => {
  const { id, orgId, action, actorUserId, resourceType, resourceId, createdAt } = fields
  const head = JSON.stringify([id, orgId, action, actorUserId, resourceType, resourceId])
  return `${head.slice(0, -1)},${metadata ?? 'null'},"${iso(createdAt)}"]`
}

/** Returns a signer for many entries with the same secret. The HMAC key is prepared once. */
export const makeSign = (secret: string) => {
  const hmac = makeHmac(secret)
  return (fields: Omit<SignedFields, 'metadata'>, metadata: string | null): string => hmac(signedText(fields, metadata))
}

/** One for each secret, of which there are a few: the present one and the former ones. */
const signers = new Map<string, ReturnType<typeof makeSign>>()

const signerOf = (secret: string): ReturnType<typeof makeSign> => {
  let signer = signers.get(secret)
  if (!signer) {
    signer = makeSign(secret)
    signers.set(secret, signer)
  }
  return signer
}

export const sign = (secret: string, fields: SignedFields): string =>
  signerOf(secret)(fields, canonicalMetadata(fields.metadata))

/** `metadata` is that of the fields, in its canonical form. */
export const signatureMatches = (
  secret: string,
  fields: SignedFields,
  metadata: string | null,
  signature: string,
): boolean => sameBytes(signerOf(secret)(fields, metadata), signature)
