import { randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { Failure } from '../../platform/ground/errors.ts'
import { makeAddressTurns } from './address-turns.ts'

/** argon2id with OWASP's recommended parameters: 19 MiB of memory, two iterations, one degree of parallelism. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const hashPassword = (password: string): Promise<string> => hash(password, cost)

export const verifyPassword = (stored: string, password: string): Promise<boolean> => verify(stored, password)

/** Hashing runs on threads that files and name look-ups share, so that it never takes all of them. */
const defaultAtOnce = 2
/** A second of hashing, roughly. More would only make callers wait until they give up. */
const defaultWaiting = 100

type Options = { atOnce?: number; waiting?: number; hash?: typeof hashPassword; verify?: typeof verifyPassword }

/** Hashes passwords, a few at a time. Beyond the limits, calls of the address with the most are refused. */
/** Every call names the address that it works for, because addresses take turns. */
export const makePasswords = (options: Options = {}) => {
  const { atOnce = defaultAtOnce, waiting = defaultWaiting } = options
  const { hash: make = hashPassword, verify: check = verifyPassword } = options
  const refusal = (): Failure =>
    new Failure('RATE_LIMITED', { message: 'Too many attempts. Try again later.', retryAfter: 5 })
  const run = makeAddressTurns({ atOnce, waiting, refusal })

  /** A hash of a password that nobody knows. Made on first use, and again if that failed. */
  let unknown: Promise<string> | undefined
  const nobodys = (): Promise<string> => {
    unknown ??= make(randomBytes(32).toString('base64url')).catch((error) => {
      unknown = undefined
      throw error
    })
    return unknown
  }

  return {
    hash: (password: string, address: string | null) => run(address, () => make(password)),
    /** False without a stored hash, after the same work as with one. */
    matches: async (stored: string | null, password: string, address: string | null) => {
      const compared = stored ?? (await nobodys())
      const matches = await run(address, () => check(compared, password))
      return stored !== null && matches
    },
  }
}

export type Passwords = ReturnType<typeof makePasswords>
