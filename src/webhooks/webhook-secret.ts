import { randomBytes } from 'node:crypto'
import type { Vault } from '../ground/crypto.ts'

const prefix = 'whsec_'

/**
 * The prefix and 32 random bytes in 43 characters. Drawn again until none of them is `-` or `_`: libraries for
 * Standard Webhooks read what follows the prefix as plain base64, where those two mean nothing.
 */
export const mintSecret = (): string => {
  for (;;) {
    const text = randomBytes(32).toString('base64url')
    if (!/[-_]/.test(text)) return `${prefix}${text}`
  }
}

/** The bytes behind the text, which is what Standard Webhooks signs with. */
export const bytesOf = (secret: string): Buffer => Buffer.from(secret.slice(prefix.length), 'base64')

const context = (endpointId: string): string => `webhook_endpoints/${endpointId}`

export const sealSecret = (vault: Vault, endpointId: string, secret: string): string =>
  vault.seal(secret, context(endpointId))

/** Opens only for the endpoint it was sealed for. */
export const openSecret = (vault: Vault, endpointId: string, sealed: string): string =>
  vault.open(sealed, context(endpointId))
