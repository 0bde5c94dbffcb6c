/** The documented signature of an entry: HMAC-SHA256 over eight of its fields, as one JSON array. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
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

const suspectEscape = /\\u(?:0000|d[89a-f])/i

/** Metadata as it will read back: what JSON drops or converts is dropped and converted before it is signed. */
export const canonicalMetadata = (metadata: Record<string, unknown> | null): string | null => {
  if (metadata === null) return null
  const text = JSON.stringify(metadata)
  // What cannot be stored is written as an escape; without one there is nothing to clean.
  return canonicalJson(JSON.parse(suspectEscape.test(text) ? JSON.stringify(metadata, cleaned) : text))
}

/** A JSON array leaves no doubt where one field ends and the next begins. */
export const signedText = (fields: SignedFields, metadata = canonicalMetadata(fields.metadata)): string => {
  const { id, orgId, action, actorUserId, resourceType, resourceId, createdAt } = fields
  const head = JSON.stringify([id, orgId, action, actorUserId, resourceType, resourceId])
  return `${head.slice(0, -1)},${metadata ?? 'null'},${JSON.stringify(createdAt.toISOString())}]`
}

const digest = (key: string | KeyObject, text: string): string =>
  createHmac('sha256', key).update(text).digest('hex')

export const sign = (secret: string, fields: SignedFields): string => digest(secret, signedText(fields))

/** Signs many entries under one secret: the key is prepared once. Takes the canonical metadata where it is known. */
export const makeSign = (secret: string) => {
  const key = createSecretKey(secret, 'utf8')
  return (fields: SignedFields, metadata: string | null): string => digest(key, signedText(fields, metadata))
}

export const signatureMatches = (secret: string, fields: SignedFields, signature: string): boolean =>
  sameBytes(sign(secret, fields), signature)
