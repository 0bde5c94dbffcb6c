/** One-time codes and the keyed hashes that are stored in their place. */
import { hkdfSync, randomInt } from 'node:crypto'
import { makeHmac } from '../ground/crypto.ts'
import type { Environment } from '../ground/scope.ts'

/** Test mode sends nothing, so its codes are known. */
const testDigits = '1234567890'

/** Uniformly random digits, with leading zeros. */
export const newCode = (environment: Environment, length: number): string =>
  environment === 'test'
    ? testDigits.slice(0, length)
    : randomInt(10 ** length)
        .toString()
        .padStart(length, '0')

export interface CodeHashes {
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
export const makeCodeHashes = ({ masterKey, previous }: Keys): CodeHashes => {
  const hmacs = [masterKey, ...previous].map((key) =>
    makeHmac(Buffer.from(hkdfSync('sha256', key, '', 'tidings one-time codes', 32)).toString('hex')),
  )
  const [current] = hmacs as [(text: string) => string]
  const textOf = (verificationId: string, code: string): string => `${verificationId}:${code}`
  return {
    of: (verificationId, code) => current(textOf(verificationId, code)),
    all: (verificationId, code) => hmacs.map((hmac) => hmac(textOf(verificationId, code))),
  }
}
