/**
 * Browsers that have signed in to an account. The cookie proves it with a signature, so nothing is stored. It only lets
 * the browser try passwords while others guess them: the password and the mailed code are asked as always.
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../platform/ground/clock.ts'
import { sameBytes } from '../../platform/ground/crypto.ts'
import type { Codes } from './sign-in-code.ts'

export const deviceSeconds = 31_536_000
/** Accounts that one browser can be known to. */
const maxAccounts = 5
const separator = '~'

export const makeKnownDevices = ({ clock, codes }: { clock: Clock; codes: Pick<Codes, 'hash' | 'hashes'> }) => {
  const purposeOf = (userId: string): string => `device ${userId}`

  /** An entry is `id.seconds.signature`. The account is in the signature only. */
  const isOf = (userId: string, entry: string): boolean => {
    const [, signed, seconds, signature] = /^([\w-]{16}\.(\d{10,11}))\.([\w-]{43})$/.exec(entry) ?? []
    if (signed === undefined || signature === undefined) return false
    if ((Number(seconds) + deviceSeconds) * 1_000 <= clock.millis()) return false
    const given = Buffer.from(signature, 'base64url')
    return codes.hashes(signed, purposeOf(userId)).some((hash) => sameBytes(hash, given))
  }

  const entriesOf = (cookie: string | undefined): string[] =>
    (cookie?.split(separator, maxAccounts) ?? []).filter((entry) => entry.length < 100)

  return {
    /** The cookie of a browser that is now known to this account too. */
    remember: (userId: string, cookie: string | undefined) => {
      const signed = `${randomBytes(12).toString('base64url')}.${Math.floor(clock.millis() / 1_000)}`
      const signature = codes.hash(signed, purposeOf(userId)).toString('base64url')
      const others = entriesOf(cookie).filter((entry) => /^[\w.-]+$/.test(entry) && !isOf(userId, entry))
      return [`${signed}.${signature}`, ...others].slice(0, maxAccounts).join(separator)
    },
    /** The id of the browser if it is known to the account. */
    find: (userId: string, cookie: string | undefined) =>
      entriesOf(cookie)
        .find((entry) => isOf(userId, entry))
        ?.slice(0, 16),
  }
}

export type KnownDevices = ReturnType<typeof makeKnownDevices>
