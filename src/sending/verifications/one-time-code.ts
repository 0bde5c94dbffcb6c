/** One-time codes and the keyed hashes that are stored in their place. */
import { derivedHmac, derivedHmacs, type MasterKeys } from '../../platform/ground/derived-key.ts'
import type { Environment } from '../../platform/ground/scope.ts'

/** Test mode sends nothing, so its codes are known. */
const testDigits = '1234567890'

/**
 * A code has so few digits that anyone who reads an unkeyed hash can find it by trying them all. The key is derived
 * from the master key, which is not in the database or its backups.
 */
export const makeOneTimeCodes = (keys: MasterKeys) => {
  const hmacs = derivedHmacs(keys, 'tidings one-time codes')
  const derive = derivedHmac(keys.masterKey, 'tidings one-time code digits')
  const textOf = (verificationId: string, code: string): string => `${verificationId}:${code}`
  return {
    /** The code of a verification. It is stored nowhere, and a repeated request finds it again. */
    codeOf: (verificationId: string, environment: Environment, length: number): string => {
      if (environment === 'test') return testDigits.slice(0, length)
      // 128 of its bits are so many that every code is equally likely.
      const digits = BigInt(`0x${derive(verificationId).slice(0, 32)}`) % 10n ** BigInt(length)
      return digits.toString().padStart(length, '0')
    },
    of: (verificationId: string, code: string): string => hmacs[0](textOf(verificationId, code)),
    /** Every hash under which a code may be stored: a previous master key may have been in use when it was sent. */
    all: (verificationId: string, code: string): string[] => hmacs.map((hmac) => hmac(textOf(verificationId, code))),
  }
}

export type OneTimeCodes = ReturnType<typeof makeOneTimeCodes>
