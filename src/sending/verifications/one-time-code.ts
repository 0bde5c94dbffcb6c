/** One-time codes and the keyed hashes that are stored in their place. */
import { hkdfSync } from 'node:crypto'
import { makeHmac } from '../../platform/ground/crypto.ts'
import type { Environment } from '../../platform/ground/scope.ts'

/** Test mode sends nothing, so its codes are known. */
const testDigits = '1234567890'

export interface OneTimeCodes {
  /** The code of a verification. It is stored nowhere, and a repeated request finds it again. */
  codeOf(verificationId: string, environment: Environment, length: number): string
  /** The hash to store. */
  of(verificationId: string, code: string): string
  /** Every hash under which a code may be stored: a previous master key may have been in use when it was sent. */
  all(verificationId: string, code: string): string[]
}

type Keys = { masterKey: Buffer; previous: Buffer[] }

/**
 * A code has so few digits that anyone who reads an unkeyed hash can find it by trying them all. The key is derived
 * from the master key, which is not in the database or its backups.
 */
export const makeOneTimeCodes = ({ masterKey, previous }: Keys): OneTimeCodes => {
  const hmacs = [masterKey, ...previous].map((key) =>
    makeHmac(Buffer.from(hkdfSync('sha256', key, '', 'tidings one-time codes', 32)).toString('hex')),
  )
  const [current] = hmacs as [(text: string) => string]
  const derive = makeHmac(
    Buffer.from(hkdfSync('sha256', masterKey, '', 'tidings one-time code digits', 32)).toString('hex'),
  )
  const textOf = (verificationId: string, code: string): string => `${verificationId}:${code}`
  return {
    codeOf: (verificationId, environment, length) => {
      if (environment === 'test') return testDigits.slice(0, length)
      // 128 of its bits are so many that every code is equally likely.
      const digits = BigInt(`0x${derive(verificationId).slice(0, 32)}`) % 10n ** BigInt(length)
      return digits.toString().padStart(length, '0')
    },
    of: (verificationId, code) => current(textOf(verificationId, code)),
    all: (verificationId, code) => hmacs.map((hmac) => hmac(textOf(verificationId, code))),
  }
}
