/** The documented signature of an audit entry: HMAC-SHA256 over eight of its fields as a JSON array. */
import { createHmac } from 'node:crypto'
import { canonicalJson } from '../ground/canonical.ts'
import { makeHmac, sameBytes } from '../ground/crypto.ts'
import { iso } from '../ground/instant.ts'

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

/** Whether `JSON.stringify` already gives the canonical form: sorted names, and only strings and finite numbers. */
const isPlain = (metadata: Record<string, unknown>): boolean => {
  let before = ''
  for (const [name, value] of Object.entries(metadata)) {
    if (name < before || (typeof value !== 'string' && !Number.isFinite(value))) return false
    before = name
  }
  return true
}

/** Metadata as it will be read back. JSON drops or converts some values, so that happens before signing. */
export const canonicalMetadata = (metadata: Record<string, unknown> | null): string | null => {
  if (metadata === null) return null
  const text = JSON.stringify(metadata)
  if (isPlain(metadata) && !suspectEscape.test(text)) return text
  // Characters that cannot be stored appear as escapes. Without such an escape there is nothing to clean.
  return canonicalJson(JSON.parse(suspectEscape.test(text) ? JSON.stringify(metadata, cleaned) : text))
}

/** The text to sign. A JSON array makes field boundaries unambiguous. `metadata` must be in its canonical form. */
export const signedText = (fields: Omit<SignedFields, 'metadata'>, metadata: string | null): string => {
  const { id, orgId, action, actorUserId, resourceType, resourceId, createdAt } = fields
  const head = JSON.stringify([id, orgId, action, actorUserId, resourceType, resourceId])
  return `${head.slice(0, -1)},${metadata ?? 'null'},"${iso(createdAt)}"]`
}

export const sign = (secret: string, fields: SignedFields): string =>
  createHmac('sha256', secret)
    .update(signedText(fields, canonicalMetadata(fields.metadata)))
    .digest('hex')

/** Returns a signer for many entries with the same secret. The HMAC key is prepared once. */
export const makeSign = (secret: string) => {
  const hmac = makeHmac(secret)
  return (fields: Omit<SignedFields, 'metadata'>, metadata: string | null): string => hmac(signedText(fields, metadata))
}

export const signatureMatches = (secret: string, fields: SignedFields, signature: string): boolean =>
  sameBytes(sign(secret, fields), signature)
