/** The documented signature of an entry: HMAC-SHA256 over eight of its fields, as one JSON array. */
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

// PostgreSQL's text holds neither NUL nor half a surrogate pair.
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

const cleaned = (_key: string, value: unknown): unknown => {
  if (typeof value === 'string') return storable(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storable(name), inner]))
}

const suspectEscape = /\\u(?:0000|d[89a-f])/i

/** Words and numbers under names in their order, as most entries have: written down it is canonical as it stands. */
const isPlain = (metadata: Record<string, unknown>): boolean => {
  let before = ''
  for (const [name, value] of Object.entries(metadata)) {
    if (name < before || (typeof value !== 'string' && !Number.isFinite(value))) return false
    before = name
  }
  return true
}

/** Metadata as it will read back: what JSON drops or converts is dropped and converted before it is signed. */
export const canonicalMetadata = (metadata: Record<string, unknown> | null): string | null => {
  if (metadata === null) return null
  const text = JSON.stringify(metadata)
  if (isPlain(metadata) && !suspectEscape.test(text)) return text
  // What cannot be stored is written as an escape; without one there is nothing to clean.
  return canonicalJson(JSON.parse(suspectEscape.test(text) ? JSON.stringify(metadata, cleaned) : text))
}

/** A JSON array leaves no doubt where one field ends and the next begins. Takes metadata in its canonical form. */
export const signedText = (fields: Omit<SignedFields, 'metadata'>, metadata: string | null): string => {
  const { id, orgId, action, actorUserId, resourceType, resourceId, createdAt } = fields
  const head = JSON.stringify([id, orgId, action, actorUserId, resourceType, resourceId])
  return `${head.slice(0, -1)},${metadata ?? 'null'},"${iso(createdAt)}"]`
}

export const sign = (secret: string, fields: SignedFields): string =>
  createHmac('sha256', secret)
    .update(signedText(fields, canonicalMetadata(fields.metadata)))
    .digest('hex')

/** Signs many entries under one secret: the key is prepared once. */
export const makeSign = (secret: string) => {
  const hmac = makeHmac(secret)
  return (fields: Omit<SignedFields, 'metadata'>, metadata: string | null): string => hmac(signedText(fields, metadata))
}

export const signatureMatches = (secret: string, fields: SignedFields, signature: string): boolean =>
  sameBytes(sign(secret, fields), signature)
