import { randomBytes } from 'node:crypto'
import type { Vault } from '../platform/ground/crypto.ts'

const prefix = 'whsec_'

/** The secrets that sign a delivery, newest first. */
export type SigningSecrets = readonly [string, ...string[]]

/**
 * The prefix and 32 random bytes as 43 characters of base64. Generates a new secret until it contains neither `-` nor
 * `_`: libraries for Standard Webhooks decode the text after the prefix as plain base64, where both are invalid.
 */
export const mintSecret = (): string => {
  for (;;) {
    const text = randomBytes(32).toString('base64url')
    if (!/[-_]/.test(text)) return `${prefix}${text}`
  }
}

/** The decoded bytes of a secret. Standard Webhooks signs with these. */
export const bytesOf = (secret: string): Buffer => Buffer.from(secret.slice(prefix.length), 'base64')

const context = (endpointId: string): string => `webhook_endpoints/${endpointId}`

export const sealSecret = (vault: Vault, endpointId: string, secret: string): string =>
  vault.seal(secret, context(endpointId))

/** Throws when a secret was sealed for another endpoint. */
export const openSecrets = (vault: Vault, endpointId: string, sealed: SigningSecrets): SigningSecrets => {
  const [newest, ...older] = sealed
  const open = (each: string): string => vault.open(each, context(endpointId))
  return [open(newest), ...older.map(open)]
}
