/** The six digits that are mailed or texted, backup codes, and the tokens of links and cookies. Only hashes are stored. */
import { createHmac, randomBytes, randomInt } from 'node:crypto'
import { sha256 } from '../../platform/ground/crypto.ts'

export const makeCodes = (masterKey: Buffer, previous: readonly Buffer[] = []) => {
  const hashWith = (key: Buffer, code: string, purpose: string): Buffer =>
    createHmac('sha256', key).update(`one-time-code ${purpose}\n${code}`).digest()
  return {
    /** Six random digits. */
    make: () => String(randomInt(1_000_000)).padStart(6, '0'),
    /** A keyed hash: without the key, six digits are found from a plain hash in no time. */
    hash: (code: string, purpose: string) => hashWith(masterKey, code, purpose),
    /** The hashes under the current and all former master keys, for codes that outlive a change of the key. */
    hashes: (code: string, purpose: string) => [masterKey, ...previous].map((key) => hashWith(key, code, purpose)),
  }
}

export type Codes = ReturnType<typeof makeCodes>

export const maxTries = 5

/** 256 random bits for a link or a cookie. They cannot be guessed, so a plain hash is enough. */
export const newToken = (): { token: string; hash: Buffer } => {
  const token = randomBytes(32).toString('base64url')
  return { token, hash: sha256(token) }
}

/** Without letters and digits that look alike. */
const backupAlphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

/** Such as `7KQ2M-9XRTB`. */
export const newBackupCode = (): string => {
  const code = Array.from(randomBytes(10), (byte) => backupAlphabet[byte & 31]).join('')
  return `${code.slice(0, 5)}-${code.slice(5)}`
}

/** What a person typed, as it was made: upper case, without spaces and dashes. */
export const plainBackupCode = (typed: string): string => typed.toUpperCase().replace(/[\s-]/g, '')
