/** A key string: `svc_live_` or `svc_test_`, 32 random base62 characters, then the CRC-32 of all that in 6 more. */
import { crc32 } from 'node:zlib'
import { randomBase62, sha256, toBase62 } from '../../platform/ground/crypto.ts'
import type { Environment } from '../../platform/ground/scope.ts'

const shape = /^svc_(?:live|test)_[0-9A-Za-z]{38}$/

const checksum = (text: string): string => toBase62(crc32(text), 6)

/** What is stored of a key. */
export type MintedKey = { hash: Buffer; prefix: string; lastFour: string }

/** Only the hash, the prefix and the last four characters are stored. The key itself is shown once. */
export const mintKey = (environment: Environment): MintedKey & { key: string } => {
  const head = `svc_${environment}_${randomBase62(32)}`
  const key = head + checksum(head)
  return { key, hash: sha256(key), prefix: key.slice(0, 13), lastFour: key.slice(-4) }
}

/** Whether a text begins like a key, so that its writer meant one. */
export const startsLikeKey = (text: string): boolean => /^svc_(?:live|test)_/.test(text)

/** Checks format and checksum, so that a mistyped key is rejected without a database read. */
export const isKeyShaped = (text: string): boolean =>
  text.length === 47 && shape.test(text) && checksum(text.slice(0, 41)) === text.slice(41)
