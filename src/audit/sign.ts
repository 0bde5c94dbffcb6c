/** The documented signature of an entry: HMAC-SHA256 over eight of its fields, as one JSON array. */
import { createHmac } from 'node:crypto'
import { canonicalJson } from '../ground/canonical.ts'
import { sameBytes } from '../ground/crypto.ts'

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

// PostgreSQL's text holds neither NUL nor half a surrogate pair.
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

const cleaned = (_key: string, value: unknown): unknown => {
  if (typeof value === 'string') return storable(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storable(name), inner]))
}

/** Metadata as it will read back: what JSON drops or converts is dropped and converted before it is signed. */
export const canonicalMetadata = (metadata: Record<string, unknown> | null): string | null =>
  metadata === null ? null : canonicalJson(JSON.parse(JSON.stringify(metadata, cleaned)))

/** A JSON array leaves no doubt where one field ends and the next begins. */
export const signedText = (fields: SignedFields): string => {
  const { id, orgId, action, actorUserId, resourceType, resourceId, metadata, createdAt } = fields
  const head = JSON.stringify([id, orgId, action, actorUserId, resourceType, resourceId])
  return `${head.slice(0, -1)},${canonicalMetadata(metadata) ?? 'null'},${JSON.stringify(createdAt.toISOString())}]`
}

export const sign = (secret: string, fields: SignedFields): string =>
  createHmac('sha256', secret).update(signedText(fields)).digest('hex')

export const signatureMatches = (secret: string, fields: SignedFields, signature: string): boolean =>
  sameBytes(sign(secret, fields), signature)
